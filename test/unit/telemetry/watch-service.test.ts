import { expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { watchService } from '../../../src/telemetry/watch-service.ts';
import { boardOf } from './support/board-of.ts';
import { capturedLog } from './support/captured-log.ts';

const part = 'registry';
const name = 'the schema registry';
const away = 'REGISTRY_UNREACHABLE';
const refusal = 'REGISTRY_REFUSED';

/** Lets the watch ask once for each answer, an error or none; gives the parts that are not ready after each, and the log. */
async function watch(...answers: readonly (typeof away | typeof refusal | null)[]) {
  const { board } = boardOf(0);
  const ending = new AbortController();
  const { logger, messages } = capturedLog();
  const unready: string[][] = [];
  let [asked, longestMs] = [0, 0];
  const ping = async (): Promise<void> => {
    const code = answers[asked] ?? null;
    asked += 1;
    if (code !== null) throw new RollcallError(code, `${name} did not answer`, { remedy: 'Check it.' });
  };
  const sleep = async (ms: number): Promise<void> => {
    longestMs = Math.max(longestMs, ms);
    if (asked > 0)
      unready.push(board.readiness().reasons.flatMap((reason) => (reason.part === part ? [part] : [])));
    if (asked === answers.length) ending.abort();
  };
  await watchService(
    { part, name, refusal, meanwhile: 'Meanwhile nothing happens.', ping },
    { board, logger, signal: ending.signal, sleep },
  );
  expect(longestMs).toBeLessThan(60_000 - 10_000);
  return { unready, said: messages() };
}

it('a service that stops answering is not ready within a minute until it answers, and is logged once', async () => {
  expect(await watch(null, away, away, null, null)).toEqual({
    unready: [[], [part], [part], [], []],
    said: [`${name} did not answer (${away})`, `${name} answers again`],
  });
});

it('a service counts as answering if it only refuses the question', async () => {
  expect(await watch(refusal)).toEqual({ unready: [[]], said: [] });
});
