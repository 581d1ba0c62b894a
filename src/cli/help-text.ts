import { wrapText } from '../core/words.ts';

const WIDTH_WITHOUT_TERMINAL = 80;
const WIDEST = 120;

/** `text` for below the options of a verb's `--help`, with lines as long as the terminal allows. */
export function wrapped(text: string): () => string {
  return () => {
    const width = Math.min(process.stdout.columns ?? WIDTH_WITHOUT_TERMINAL, WIDEST);
    return `\n${wrapHelp(text.replace(/^\n+|\n+$/g, ''), width)}`;
  };
}

/**
 * Wraps each paragraph to `width`. An indented line is an item: lines that are indented deeper belong to it, and what
 * follows its first gap of two spaces is wrapped in a column of its own. An item without a gap, a command say, stays as
 * it is.
 */
export function wrapHelp(text: string, width: number): string {
  const blocks: string[] = [];
  let previous = '';
  for (const line of text.split('\n')) {
    const continues =
      line !== '' && previous !== '' && indentOf(line) > (indentOf(previous) === 0 ? Infinity : 2);
    const isSameParagraph =
      line !== '' && previous !== '' && indentOf(line) === 0 && indentOf(previous) === 0;
    if (continues || isSameParagraph) blocks.push(`${blocks.pop() ?? ''} ${line.trim()}`);
    else blocks.push(line);
    previous = line;
  }
  return blocks.flatMap((block) => wrapBlock(block, width)).join('\n');
}

function wrapBlock(block: string, width: number): string[] {
  if (block.length <= width) return [block];
  if (indentOf(block) === 0) return wrapText(block, width);
  const label = /^ +.*?\S {2,}/.exec(block)?.[0];
  if (label === undefined) return [block];
  const [first = '', ...rest] = wrapText(block.slice(label.length), width - label.length);
  return [label + first, ...rest.map((line) => ' '.repeat(label.length) + line)];
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
