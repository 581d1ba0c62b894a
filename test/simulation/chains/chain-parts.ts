import type { Hub } from '../../../src/hub/hub.ts';
import type { RowReader } from '../../../src/core/decoded-row.ts';
import type { Emit } from '../../../src/pipeline/events.ts';
import type { TenantParts } from '../../../src/pipeline/tenant.ts';
import type { TenantLog } from '../../../src/publisher/log.ts';
import type { CollectionIndex, DeletionMemory } from '../../../src/state/index-store.ts';
import { SCOPE } from '../parts/simulated-topics.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import { changeCodec, decodeFramed, rejectCodec, versionCodec } from './chain-codecs.ts';

/** What changes in the millisecond of a page, after it was looked up, is stamped with the page's own time. */
const OVERLAP_MS = 1;
/** In place of the real pauses, which would leave most of a history asleep. */
const LONGEST_SLEEP_MS = 20;

/** A tenant of one collection, `absence-versions`, among simulated parts; all that lies between them is real. */
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
  /** As the configuration has it that the process was started with. */
  reader: RowReader;
  emit: Emit;
}): TenantParts {
  const { reader, hub, log, index, deletions, forgetAfterMs, absentSinceMs, randomId, emit } = options;
  const { time, random } = options.at;
  return {
    ...SCOPE,
    hub,
    log,
    state: { collection: () => index, deletions, forget: () => Promise.resolve() },
    collections: [
      {
        name: 'absence-versions',
        reader,
        deltaEveryMs: 3,
        fullPull: { at: '00:00', timeZone: 'UTC' },
      },
    ],
    afterschoolIds: [],
    chains: options.hasChains
      ? {
          encodeChange: (value) => changeCodec.toBuffer(value),
          decodeVersion: (body) => versionCodec.fromBuffer(body),
          decode: decodeFramed,
          reader,
          absentSinceMs,
          forgetAfterMs,
          onStudents: () => undefined,
        }
      : undefined,
    encodeReject: (value) => rejectCodec.toBuffer(value),
    guard: { rows: 1_000, ratio: 1, perDay: false },
    deltaOverlapMs: OVERLAP_MS,
    prepare: () => Promise.resolve(),
    now: time.now,
    random: () => random.next(),
    randomId,
    sleep: (ms, signal) => time.sleep(Math.min(ms, LONGEST_SLEEP_MS), signal),
    emit,
  };
}
