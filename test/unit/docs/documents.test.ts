import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { COLLECTIONS, OWN_TOPICS, STATE_TOPIC } from '../../../src/model/collections.ts';

const checkout = fileURLToPath(new URL('../../../', import.meta.url));
const documents = globSync(['*.md', '{docs,examples,helm,reference-hub}/**/*.md'], { cwd: checkout });

function read(path: string): string {
  return readFileSync(join(checkout, path), 'utf8');
}

/** Gives the links to files of the project, as paths from the checkout. */
function linkedFiles(document: string): string[] {
  const targets = [...read(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^(?:[a-z]+:|#)/.test(target))
    .map((target) => join(dirname(document), target.replace(/#.*$/, '')));
}

/** The anchors that GitHub gives the headings of a document (two of one name would need numbers). */
function anchorsIn(document: string): string[] {
  const text = read(document).replaceAll(/^ *```[^]*?^ *```$/gm, '');
  const titles = text.match(/^#+ .+$/gm)?.map((line) => line.replace(/^#+ /, '').toLowerCase());
  return (titles ?? []).map((title) => title.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-'));
}

describe.each(documents)('%s', (document) => {
  it('links only to files that exist', () => {
    expect(linkedFiles(document).filter((path) => !existsSync(join(checkout, path)))).toEqual([]);
  });

  it('links only to headings that exist', () => {
    const links = [...read(document).matchAll(/\]\(([^)\s:#]+\.md)?#([^)\s]+)\)/g)];
    const missing = links.filter(([, path, anchor = '']) => {
      const target = path === undefined ? document : join(dirname(document), path);
      return !anchorsIn(target).includes(anchor);
    });
    expect(missing.map(([link]) => link)).toEqual([]);
  });
});

describe('docs/invariants.md', () => {
  it('cites only tests that exist', () => {
    const lines = read('docs/invariants.md').split('\n');
    const cited = lines.filter((line) => /^- \[[\w.-]+\.ts\]/.test(line));
    const missing = cited.flatMap((line) => {
      const path = join('docs', /\]\(([^)]+)\)/.exec(line)?.[1] ?? '');
      const source = existsSync(join(checkout, path)) ? read(path) : '';
      return [...line.matchAll(/“([^”]+)”/g)].flatMap(([, name = '']) =>
        source.includes(name) ? [] : [`${path}: ${name}`],
      );
    });
    expect(cited.length).toBeGreaterThan(10);
    expect(missing).toEqual([]);
  });
});

const LISTS_OF_COLLECTIONS = ['docs/contract.md', 'docs/standard-servers.md'];

describe.each(LISTS_OF_COLLECTIONS)('%s', (document) => {
  it('names every collection', () => {
    const text = read(document);
    expect(COLLECTIONS.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('docs/privacy.md', () => {
  it('says of every topic what it holds, how long, and who needs to read it', () => {
    const rows = read('docs/privacy.md')
      .split('\n')
      .filter((line) => line.startsWith('| topic'));
    const named = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name),
    );
    expect(named.toSorted()).toEqual([...COLLECTIONS, ...OWN_TOPICS, STATE_TOPIC].toSorted());
    for (const row of rows)
      expect(
        row
          .split('|')
          .slice(2, 5)
          .map((cell) => cell.trim()),
      ).not.toContain('');
  });
});

describe('docs/consuming.md', () => {
  it.each([
    ['ts', ['examples/consumer.ts']],
    [
      'java',
      ['ReactOnce', 'Reactions'].map((name) => `examples/java/src/main/java/rollcall/react/${name}.java`),
    ],
    ['python', ['examples/python/rollcall_topics.py', 'examples/python/react_once.py']],
  ])('shows lines of the examples in %s as they are, in order', (language, examples) => {
    const block = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(read('docs/consuming.md'));
    const shown = (block?.[1] ?? '').split('\n').filter((line) => line !== '' && !line.endsWith(' ⋮'));
    const lines = examples.flatMap((path) => read(path).split('\n'));
    let at = 0;
    const missing = shown.filter((line) => {
      const found = lines.indexOf(line, at);
      if (found >= 0) at = found + 1;
      return found < 0;
    });
    expect(shown.length).toBeGreaterThan(5);
    expect(missing).toEqual([]);
  });
});

describe.each(['README.md', 'CONTRIBUTING.md'])('%s', (document) => {
  it('names only scripts of package.json', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...read(document).matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name = '']) => name);
    expect(named).not.toEqual([]);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});
