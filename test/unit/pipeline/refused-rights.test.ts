import { expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import { TenantRun } from '../../../src/worker/worker.ts';
import { boardOf } from '../telemetry/support/board-of.ts';

const refused = (message: string): RollcallError =>
  new RollcallError('KAFKA_REFUSED', message, { remedy: 'Grant it.' });

it('a tenant says once which rights are missing, all of them, and goes on when they are granted', async () => {
  const stop = new AbortController();
  const { board } = boardOf(0);
  const news: PipelineEvent[] = [];
  const failures: unknown[] = [];
  let pauses = 0;
  // Taken away after the first look, and granted again before the fifth attempt.
  const isDenied = (): boolean => pauses < 4;
  let looks = 0;
  const tenant = {
    tenantId: 'north',
    collections: [],
    prepare: async () => {
      looks += 1;
      if (looks > 1 && isDenied()) throw refused('no right to read and to write');
    },
    log: {
      own: async () => {
        if (isDenied()) throw refused('no right to write');
        return { owner: 'me', progress: new Map(), transactionIds: new Map() };
      },
      ranges: async () => [],
    },
    runtime: {
      now: () => 0,
      random: () => 0.5,
      sleep: async (_: number, signal: AbortSignal) => {
        pauses += 1;
        signal.throwIfAborted();
      },
    },
    emit: (event: PipelineEvent) => {
      if (event.type === 'session-failed') failures.push(event.error);
      if (board.note('north', event)) news.push(event);
      if (event.type === 'session-opened') stop.abort();
    },
  } as unknown as Tenant;
  await new TenantRun(tenant).mirror(stop.signal);
  expect(failures).toHaveLength(4);
  expect(new Set(failures.map((error) => (error as RollcallError).message))).toEqual(
    new Set(['no right to read and to write']),
  );
  expect(news.map(({ type }) => type)).toEqual(['session-failed', 'owned', 'session-opened']);
});
