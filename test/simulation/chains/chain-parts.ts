import type { Hub } from '../../../src/hub/hub.ts';
import { TransactionSize } from '../../../src/core/transaction-size.ts';
import type { RowReader } from '../../../src/core/decoded-row.ts';
import type { Emit } from '../../../src/core/pipeline-events.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import type { TenantLog } from '../../../src/log/log.ts';
import type { CollectionIndex, DeletionMemory } from '../../../src/state/index-store.ts';
import { SCOPE } from '../parts/simulated-topics.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import { changeCodec, decodeFramed, encodeEvent, rejectCodec, versionCodec } from './chain-codecs.ts';

/** A change in the same millisecond after a page was looked up has the same time as the page. */
const OVERLAP_MS = 1;
/** Replaces the real pauses, during which most of a history would sleep. */
const LONGEST_SLEEP_MS = 20;

/** A tenant of one collection, `absence-versions`, among simulated parts; everything between these parts is real. */
export function chainTenantParts(options: {
  at: Surroundings;
  hub: Hub;
  log: TenantLog;
  index: CollectionIndex;
  deletions: DeletionMemory;
  /** Whether `absences` and `absence-changes` are mirrored. */
  hasChains: boolean;
  forgetAfterMs: number;
  absentSinceMs: () => number;
  randomId: () => string;
  /** The mapping in the configuration of the process. */
  reader: RowReader;
  emit: Emit;
}): Tenant {
  const { reader, hub, log, index, deletions, forgetAfterMs, absentSinceMs, randomId, emit } = options;
  const { time, random } = options.at;
  return {
    ...SCOPE,
    owner: 'a process',
    hub,
    log,
    state: { collection: () => index, deletions, forget: () => Promise.resolve() },
    collections: [
      {
        name: 'absence-versions',
        reader,
        encodeReject: (value) => rejectCodec.toBuffer(value),
        deltaEveryMs: 3,
        deltaOverlapMs: OVERLAP_MS,
        fullPull: { at: '00:00', timeZone: 'UTC' },
        size: new TransactionSize(),
      },
    ],
    absences: options.hasChains
      ? {
          encodeEvent,
          encodeChange: (value) => changeCodec.toBuffer(value),
          decodeVersion: (body) => versionCodec.fromBuffer(body),
          decode: decodeFramed,
          reader,
          absentSinceMs,
          forgetAfterMs,
          onStudents: () => undefined,
        }
      : undefined,
    guard: { rows: 1_000, ratio: 1 },
    confirmAfterMs: 10,
    scopesAhead: 0,
    prepare: () => Promise.resolve(),
    runtime: {
      now: time.now,
      random: () => random.next(),
      randomId,
      sleep: (ms, signal) => time.sleep(Math.min(ms, LONGEST_SLEEP_MS), signal),
    },
    emit,
  };
}
