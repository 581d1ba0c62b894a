import { PLANNED_KINDS } from '../../../src/plan/recording-log.ts';
import type { Emit } from '../../../src/core/pipeline-events.ts';
import { planTenant, type CollectionPlan } from '../../../src/plan/plan-tenant.ts';
import type { Assembly } from '../../../src/session/assemble.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { TopicRecord } from './topic-reader.ts';

/** `<collection> <kind> <key>`, sorted; a key that would get two records stands there twice. */
export type Lines = readonly string[];

/** Makes a plan with all keys; nothing can be withheld from the output. */
export function planAll(
  assembly: Assembly,
  options: { readonly collections?: readonly CollectionName[]; readonly emit?: Emit } = {},
): Promise<readonly CollectionPlan[]> {
  return planTenant(assembly, {
    tenantId: 'north',
    collections: options.collections ?? [],
    keepsKeys: true,
    emit: options.emit ?? (() => undefined),
    onRead: () => undefined,
    signal: new AbortController().signal,
  });
}

export function plannedLines(plan: readonly CollectionPlan[]): Lines {
  return plan
    .flatMap(({ collection, keys }) =>
      PLANNED_KINDS.flatMap((kind) => keys[kind].map((key) => `${collection} ${kind} ${key}`)),
    )
    .toSorted();
}

/** The same for the records in the topics, by their headers and keys alone. */
export function publishedLines(records: readonly TopicRecord[]): Lines {
  return records.map(lineOf).toSorted();
}

function lineOf({ topic, key, value, headers }: TopicRecord): string {
  const collection = topic.split('.').at(-1) ?? '';
  if (collection === 'rejects') {
    const bar = key.indexOf('|');
    const id = decodeURIComponent(key.slice(bar + 1));
    return `${key.slice(0, bar)} ${value === null ? 'unrejected' : 'rejected'} ${id}`;
  }
  const kind = headers['ce_type']?.split('.').at(-1) ?? '';
  return `${collection} ${collection === 'absence-changes' && value === null ? 'forgotten' : kind} ${key}`;
}
