import { LineCounter, isAlias, isMap, isNode, isPair, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, Node, YAMLError } from 'yaml';
import { fillText, type FillSources } from './fill.ts';
import type { KeyPath, Problem } from './problem.ts';

/** A longer file is not a configuration. */
const MAX_LENGTH = 1024 ** 2;
const MAX_DEPTH = 50;

/** A YAML file with its variables filled in. */
export interface YamlFile {
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** Returns the line of a key, from 1; for a missing key, the line of the nearest key above it. */
  readonly lineOf: (path: KeyPath) => number | null;
}

/** Messages in place of the parser's, which quote the file and may thus contain secrets. */
const SYNTAX: Readonly<Record<string, string>> = {
  BAD_DQ_ESCAPE: 'has an unknown escape (\\) in double quotes; single quotes need no escapes',
  BAD_INDENT: 'is indented wrongly',
  BAD_SCALAR_START: 'has text that must be in quotes (it begins with @ or `)',
  BLOCK_AS_IMPLICIT_KEY: 'has a second colon on a line; text with a colon and a space needs quotes',
  DUPLICATE_KEY: 'has a key twice',
  MISSING_CHAR: 'lacks a character: a quote, a bracket, a comma or the colon after a key',
  MULTIPLE_DOCS: 'begins a second document (---); one is expected',
  TAB_AS_INDENT: 'is indented with a tab; use spaces',
  TAG_RESOLVE_FAILED: 'has an unknown tag (!); text that begins with ! needs quotes',
  UNEXPECTED_TOKEN: 'has an unexpected character',
};

/** Parses YAML and fills `${…}` in its values (not in its keys). Never throws. */
export function readYaml(text: string, sources: FillSources): YamlFile {
  if (text.length > MAX_LENGTH) return broken('is longer than 1 MiB: this is not a configuration', null);
  const lines = new LineCounter();
  let document: Document.Parsed;
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  } catch {
    return broken('cannot be read as YAML', null);
  }
  const syntax = [...document.errors, ...document.warnings];
  if (syntax.length > 0) {
    // Only the first ones, since the others are mostly their consequences.
    const problems = syntax.slice(0, 3).map((error) => syntaxProblem(error, lines));
    return { value: undefined, problems, lineOf: () => null };
  }
  return fillDocument(document, { lines, sources });
}

function fillDocument(
  document: Document.Parsed,
  options: { lines: LineCounter; sources: FillSources },
): YamlFile {
  const { lines, sources } = options;
  const problems: Problem[] = [];
  let tooDeep = false;
  visit(document, {
    Collection: (_key, _node, ancestors) => {
      if (ancestors.length <= MAX_DEPTH * 2) return undefined;
      tooDeep = true;
      return visit.BREAK;
    },
    Alias: (_key, node, ancestors) => {
      if (node.resolve(document) !== undefined) return;
      const message = 'refers (*) to an anchor that does not exist; text that begins with * needs quotes';
      problems.push({ path: pathOf(ancestors, node), message, line: lineOfNode(node, lines) });
    },
    Scalar: (key, node, ancestors) => {
      // Some code that reads maps skips this key silently, so it is reported here.
      if (key === 'key' && node.value === '__proto__') {
        const line = lineOfNode(node, lines);
        problems.push({ path: pathOf(ancestors, node), message: 'is not a known key', line });
      }
      if (key === 'key' || typeof node.value !== 'string' || !mayNeedFilling(node.value, ancestors)) return;
      const filled = fillValue({ text: node.value, path: pathOf(ancestors, node), sources });
      const line = lineOfNode(node, lines);
      for (const message of filled.problems) problems.push({ path: filled.path, message, line });
      node.value = filled.text;
    },
  });
  if (tooDeep) return broken('is nested too deeply', null);
  try {
    return { value: document.toJS(), problems, lineOf: (path) => lineOfPath(document, { path, lines }) };
  } catch {
    if (problems.length > 0) return { value: undefined, problems, lineOf: () => null };
    return broken('uses aliases (*) too often', null);
  }
}

const PEM_KEYS = new Set(['ca', 'cert', 'key']);

/** Avoids the path of every value, which would take quadratic time for a long list. */
function mayNeedFilling(text: string, ancestors: readonly unknown[]): boolean {
  const parent = ancestors.at(-1);
  return (
    text.includes('${') || (isPair(parent) && isScalar(parent.key) && PEM_KEYS.has(String(parent.key.value)))
  );
}

/** Fills a value; the TLS settings of Kafka may also name a file without `${file:…}`. */
function fillValue(options: { text: string; path: KeyPath; sources: FillSources }) {
  const { path, sources } = options;
  const filled = fillText(options.text, sources);
  const isPem =
    path.length === 3 && path[0] === 'kafka' && path[1] === 'ssl' && PEM_KEYS.has(String(path[2]));
  if (!isPem || filled.problems.length > 0 || filled.text === '' || filled.text.includes('-----BEGIN')) {
    return { ...filled, path };
  }
  return { ...fillText(`\${file:${filled.text}}`, sources), path };
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

function syntaxProblem(error: YAMLError, lines: LineCounter): Problem {
  const { line, col } = lines.linePos(error.pos[0]);
  return { path: [], message: `${SYNTAX[error.code] ?? 'is not YAML'} (column ${col})`, line };
}

function broken(message: string, line: number | null): YamlFile {
  return { value: undefined, problems: [{ path: [], message, line }], lineOf: () => null };
}
