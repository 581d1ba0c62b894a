// Stack traces of the package name files and lines of src. With Node's own option for that it would read the map of each
// bundle at the start; this reads one when a stack trace is made of it.
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** By the address of the bundle; null: it has no map. @type {Map<string, SourceMap | null>} */
const maps = new Map();

/** From now on the frames of every stack trace name the files that were bundled, in place of the bundles. */
export function nameSourcesInStacks() {
  Error.prepareStackTrace = (error, frames) =>
    [headOf(error), ...frames.map((frame) => `    at ${withSource(frame)}`)].join('\n');
}

/** @param {Error} error */
function headOf(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error';
  }
}

/** @param {NodeJS.CallSite & { toString(): string }} frame */
function withSource(frame) {
  const text = frame.toString();
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!file?.startsWith('file:') || line === null || column === null) return text;
  const origin = mapOf(file)?.findOrigin(line, column);
  if (origin === undefined || !('fileName' in origin)) return text;
  const { href } = new URL(origin.fileName, file);
  // where two functions of a bundle had the same name, the bundler has numbered one
  return text
    .replace(`${file}:${line}:${column}`, `${href}:${origin.lineNumber}:${origin.columnNumber}`)
    .replace(/\$\d+ \(/, ' (');
}

/** @param {string} file */
function mapOf(file) {
  let map = maps.get(file);
  if (map === undefined) {
    map = readMap(file);
    maps.set(file, map);
  }
  return map;
}

/** @param {string} file */
function readMap(file) {
  try {
    return new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${file}.map`), 'utf8')));
  } catch {
    return null;
  }
}
