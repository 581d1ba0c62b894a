import { z } from 'zod';
import { COLLECTIONS } from '../model/collections.ts';
import { onceEach, randomSeed } from '../core/seen-keys.ts';
import { mirrored, ownerRequest, type OwnerWork } from './owner-request.ts';
import { PULL } from './pull.ts';
import { rebuildIndex } from './rebuild.ts';

/** The most keys that one repair takes: further keys need another repair. */
export const MAX_CORRUPT_KEYS = 50_000;

const keys = z.array(z.string()).max(MAX_CORRUPT_KEYS);

const parameters = z.strictObject({
  /** Source collections. */
  collections: z
    .array(
      z.strictObject({
        name: z.enum(COLLECTIONS),
        /** Keys of rows whose records cannot be decoded, or do not match their hash. */
        rows: keys,
        /** Keys whose record in `rejects` is missing or wrong. */
        rejects: keys,
        /** Keys in `absences` that differ, when the collection is `absence-versions`. */
        absences: keys,
      }),
    )
    .min(1),
});

/**
 * `rollcall verify --repair`: rebuilds the index from the topics, without the content of corrupt records. Then it runs a
 * full sync, which publishes what is missing or corrupt, and removes what is left over, subject to the guard. Records that
 * are right are not published again. If a key of `absences` belongs to no absence, another program has written it, and it
 * stays.
 */
export const REPAIR = ownerRequest({
  kind: 'repair',
  parameters,
  async handle({ collections }, work) {
    const names = collections.map(({ name }) => name);
    // All names are checked before any index is rebuilt.
    for (const name of names) mirrored(work.writers, name, work.tenant.tenantId);
    for (const { name, rows, rejects } of collections) {
      await work.report(`rebuilding the index of ${name}`);
      await rebuildIndex(work, name, { rows, rejects });
    }
    await work.report(`a full sync of ${names.join(', ')}`);
    const again = new Set(collections.flatMap(({ absences }) => absences));
    const republication = { absences: onceEach(again, randomSeed()) };
    const sync: OwnerWork['sync'] = (name, mode, options) =>
      work.sync(
        name,
        mode,
        again.size === 0 || name !== 'absence-versions' ? options : { ...options, republication },
      );
    return PULL.handle(
      { collections: names, full: true, acceptNew: false, confirm: false },
      { ...work, sync },
    );
  },
});
