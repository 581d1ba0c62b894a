import { SURFACES, type Observation } from './observe.ts';

/** One line of the table: what every place said. */
export interface Row {
  readonly outage: string;
  /** Minutes since the outage began; null: before it. */
  readonly minute: number | null;
  readonly observation: Observation;
}

/** Where *well* was said although an outage was at least a minute old. */
export function wrongIn(rows: readonly Row[]): readonly string[] {
  return rows.flatMap(({ outage, minute, observation }) =>
    minute === null
      ? []
      : SURFACES.filter((name) => observation[name].isWell).map(
          (name) => `${outage}, minute ${minute}: ${name} says well: ${observation[name].text}`,
        ),
  );
}

/** A Markdown table. */
export function tableOf(rows: readonly Row[]): string {
  const head = ['outage', 'minute', ...SURFACES];
  const lines = rows.map(({ outage, minute, observation }) => [
    outage,
    minute === null ? 'before' : String(minute),
    ...SURFACES.map((name) => cell(observation[name].text)),
  ]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').trim();
}
