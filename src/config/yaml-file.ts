import { LineCounter, isAlias, isMap, isNode, isPair, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, ErrorCode, Node, YAMLError } from 'yaml';
import { fillText, type FillSources } from './variables.ts';
import type { KeyPath, Problem } from './problem.ts';

/** A longer file is not a configuration. */
const MAX_LENGTH = 1024 ** 2;

/** A YAML file with its variables filled in. */
export interface YamlFile {
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Returns the line of a key, from 1; for a missing key, the line of the nearest key above it. */
  readonly lineOf: (path: KeyPath) => number | null;
}

/** Stands for a credential that cannot be filled in: it passes for a secret, a PEM file and an address. */
const STAND_IN = 'https://not.set.invalid/-----BEGIN NOT SET-----';

interface YamlSources extends FillSources {
  /** Whether the value at a path may lack its variable or file. */
  readonly mayLack?: ((path: KeyPath) => boolean) | undefined;
}

/** Parses YAML and fills `${…}` in its values (not in its keys). Never throws. */
export function readYaml(text: string, sources: YamlSources): YamlFile {
  if (text.length > MAX_LENGTH) return broken('is longer than 1 MiB: this is not a configuration');
  const lines = new LineCounter();
  let document: Document.Parsed;
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  } catch {
    return broken('cannot be read as YAML');
  }
  const syntax = syntaxErrors(document);
  if (syntax.length > 0) {
    // Only the first ones, since the others are mostly their consequences.
    const problems = syntax.slice(0, 3).map((error) => syntaxProblem(error, text, lines));
    return { value: undefined, problems, lineOf: () => null };
  }
  return fillDocument(document, { lines, sources });
}

/**
 * The errors of the parser. For a key of several lines, it reports two. Only the one that fits the usual mistake is
 * kept: a value, followed by a line that is indented further.
 */
function syntaxErrors({ errors, warnings }: Document.Parsed): YAMLError[] {
  const all = [...errors, ...warnings];
  const ofSeveralLines = all.filter(({ code }) => code === 'MULTILINE_IMPLICIT_KEY');
  const places = new Set(ofSeveralLines.map(({ pos: [start] }) => start));
  return all.filter(({ code, pos: [start] }) => code !== 'BLOCK_AS_IMPLICIT_KEY' || !places.has(start));
}

function fillDocument(
  document: Document.Parsed,
  options: { lines: LineCounter; sources: YamlSources },
): YamlFile {
  const { lines, sources } = options;
  const problems: Problem[] = [];
  visit(document, {
    Scalar: (key, node, ancestors) => {
      // Works out the path only for values with a placeholder: to do so for every value would take quadratic time for a
      // long list.
      if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return;
      const filled = fillText(node.value, sources);
      const path = pathOf(ancestors, node);
      const line = lineOfNode(node, lines);
      const isLacking = filled.problems.length > 0 && sources.mayLack?.(path) === true;
      if (!isLacking) for (const problem of filled.problems) problems.push({ ...problem, path, line });
      node.value = isLacking ? STAND_IN : filled.text;
    },
  });
  try {
    return { value: document.toJS(), problems, lineOf: (path) => lineOfPath(document, { path, lines }) };
  } catch {
    return broken(
      'has an alias (*) without an anchor, or too many aliases; text that begins with * needs quotes',
    );
  }
}

function pathOf(ancestors: readonly unknown[], leaf: Node): KeyPath {
  const path: (string | number)[] = [];
  for (const [index, ancestor] of ancestors.entries()) {
    const child = ancestors[index + 1] ?? leaf;
    if (isSeq(ancestor)) path.push(ancestor.items.indexOf(child));
    else if (isPair(ancestor)) path.push(isScalar(ancestor.key) ? String(ancestor.key.value) : '?');
  }
  return path;
}

function lineOfPath(
  document: Document.Parsed,
  options: { path: KeyPath; lines: LineCounter },
): number | null {
  let node: unknown = document.contents;
  let line: number | null = null;
  for (const part of options.path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(part));
      if (pair === undefined) return line ?? lineOfNode(node, options.lines);
      line = lineOfNode(pair.key, options.lines) ?? line;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(part)];
      line = lineOfNode(node, options.lines) ?? line;
    } else return line;
  }
  return line;
}

function lineOfNode(node: unknown, lines: LineCounter): number | null {
  const start = isNode(node) ? node.range?.[0] : undefined;
  return start === undefined ? null : lines.linePos(start).line;
}

const PLAIN_WORDS: Partial<Record<ErrorCode, string>> = {
  BAD_DQ_ESCAPE: 'a backslash within double quotes is not followed by a known escape; use single quotes',
  BAD_INDENT: 'the line is not indented like its neighbours, or a bracket above it is not closed',
  BAD_SCALAR_START: 'the value begins with a character that is allowed only in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'the value contains ": ", which is allowed only in quotes',
  DUPLICATE_KEY: 'the same key is already in a line above',
  MISSING_CHAR: 'a colon, a quote or a bracket is missing here or above, or the indentation is wrong',
  MULTILINE_IMPLICIT_KEY:
    'a colon and a space are missing after the key, or the indentation of this line or of the next one is wrong',
  MULTIPLE_DOCS: '"---" begins a second document; only one is read',
  TAB_AS_INDENT: 'a tab indents the line; use spaces',
  UNEXPECTED_TOKEN: 'something follows after the end of the value; does the value need quotes?',
};

/**
 * The parser's message, and all of the line but its key, may hold a secret. The indentation is shown, because it may be the
 * mistake.
 */
function syntaxProblem({ code, pos }: YAMLError, text: string, lines: LineCounter): Problem {
  const { line, col } = lines.linePos(pos[0]);
  const what = PLAIN_WORDS[code] ?? code.toLowerCase().replaceAll('_', ' ');
  const [key] = /^\s*(?:- )?[A-Za-z][A-Za-z-]{0,40}:/.exec(text.split('\n')[line - 1] ?? '') ?? [];
  const shown = key === undefined ? '' : `\n    ${line} | ${key} …`;
  return { path: [], message: `is not YAML: ${what} (column ${col})${shown}`, line };
}

function broken(message: string): YamlFile {
  return { value: undefined, problems: [{ path: [], message, line: null }], lineOf: () => null };
}
