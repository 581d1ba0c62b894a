import { createLogger } from '../../../../src/telemetry/logger.ts';

type Line = Readonly<Record<string, unknown>>;

/** A logger, and what it has written: as lines, and parsed. */
export function capturedLog(level: 'debug' | 'info' = 'info') {
  const lines: string[] = [];
  const logger = createLogger({ level, destination: { write: (line: string) => lines.push(line) } });
  const parsed = (): Line[] => lines.map((line) => JSON.parse(line) as Line);
  return { logger, lines, parsed, messages: () => parsed().map(({ msg }) => msg) };
}
