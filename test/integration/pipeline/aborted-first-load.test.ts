import { expect, inject, it } from 'vitest';
import { DERIVED_COLLECTIONS } from '../../../src/model/collections.ts';
import { appendAborted } from '../../faults/support/compaction.ts';
import { loggedChanges } from '../support/chain-oracle.ts';
import { openMirror } from '../support/mirror.ts';

const VERSIONS = ['absence-versions'];
const collections = [...VERSIONS, ...DERIVED_COLLECTIONS];

// What is left of the transaction depends on the brokers that its records had reached.
it.each([
  { left: ['absence-changes'], were: 'not mirrored' },
  { left: ['absence-state'], were: 'not mirrored' },
  { left: ['absence-changes', 'absence-state'], were: 'not mirrored' },
  { left: ['absence-state'], were: 'mirrored' },
])(
  'events of a first load are snapshots also if its first transaction was aborted with records in $left (versions were $were before)',
  async ({ left, were }) => {
    await using versions = await openMirror({ collections: VERSIONS });
    if (were === 'mirrored') await versions.full();
    const options = { collections, hub: versions.hub, topicPrefix: versions.topicPrefix };
    await using first = await openMirror(options);
    await appendAborted(
      inject('stack').kafkaBrokers,
      left.map((suffix) => first.topic(suffix)),
    );
    await using mirror = await openMirror(options);
    await mirror.full();
    const changes = loggedChanges(await mirror.records('absence-changes'));
    expect(new Set(changes.map(({ snapshot }) => snapshot))).toEqual(new Set([true]));
  },
);
