import type { Logger } from 'pino';
import type { ConfigChange, RunningConfig } from '../config/running-config.ts';
import type { Board } from '../telemetry/board.ts';

/** A Pod sees a changed Secret or ConfigMap after about a minute. */
export const RECHECK_AFTER_MS = 5_000;

/**
 * Looks every few seconds, and at once at SIGHUP, whether the configuration has changed, until it is disposed of. It
 * compares the content, since a file on a mounted volume causes no event when it changes. It waits until the content is
 * the same twice in a row. On a terminal SIGHUP ends the process, as usual.
 */
export function watchConfig(
  file: RunningConfig,
  options: {
    readonly board: Board;
    readonly logger: Logger;
    readonly onChanged: (change: ConfigChange) => void;
  },
): Disposable {
  const { board, logger, onChanged } = options;
  const look = (): void => {
    const hadNote = file.note !== null;
    const change = file.changed();
    if (change === null) return;
    board.change(change);
    onChanged(change);
    const { note } = file;
    if (Object.values(change).flat().length > 0 || (hadNote && note === null))
      logger.info(change, 'the configuration has been read again');
    if (note === null) return;
    const code = file.isValid ? undefined : 'CONFIG_INVALID';
    logger.warn({ error: { code, remedy: note.remedy } }, note.why);
  };
  let lastText = file.text;
  const timer = setInterval(() => {
    const { text } = file;
    // A file that is still being written may lack its end: for example, the list of fields that must not be published.
    if (text === lastText) look();
    lastText = text;
  }, RECHECK_AFTER_MS);
  if (!process.stdout.isTTY) process.on('SIGHUP', look);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      process.off('SIGHUP', look);
    },
  };
}
