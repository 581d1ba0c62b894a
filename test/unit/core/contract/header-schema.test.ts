import { expect, it } from 'vitest';
import { changeHeaders } from '../../../../src/core/cloud-events.ts';
import { headerSchema } from '../../../../src/core/contract/asyncapi.ts';
import { ownerHeaders, progressHeaders } from '../../../../src/log/progress-codec.ts';
import { COLLECTIONS, type TopicSuffix } from '../../../../src/model/collections.ts';
import { SEVERAL_MAPPINGS } from '../../../../src/model/progress.ts';
import { madeProgress } from '../support/progress.ts';

const tenantId = 'north';
const own = { tenantId, id: 'tx-0', modifiedAtMs: 0 };
const [hash, mapping, body] = [Buffer.alloc(16), '0123456789abcdef', Buffer.from('body')];

interface Property {
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly pattern?: string;
}

/** What the schema of the contract finds wrong with the headers of a record. */
function problemsOf(
  suffix: TopicSuffix,
  headers: Readonly<Record<string, string>>,
  isRemoval = false,
): string[] {
  const schema = headerSchema({ tenantId, suffix, isRemoval });
  const properties = schema['properties'] as Readonly<Record<string, Property>>;
  const missing = (schema['required'] as string[]).filter((name) => !Object.hasOwn(headers, name));
  const wrong = Object.entries(headers).filter(([name, value]) => {
    const property = properties[name];
    if (property === undefined) return true;
    const { const: only = value, enum: among = [value], pattern = '' } = property;
    return value !== only || !among.includes(value) || !new RegExp(pattern).test(value);
  });
  return [...missing, ...wrong.map((each) => each.join('='))];
}

const KINDS = ['created', 'updated'] as const;
const OPERATIONS = ['created', 'replaced', 'deleted', 'restored'] as const;

it('the schema of headers allows what a record of every topic has, and what its removal has', () => {
  const gone = { ...own, modifiedAtMs: null, hash: null };
  for (const topic of [...COLLECTIONS, 'rejects'] as const) {
    for (const kind of topic === 'absence-changes' ? OPERATIONS : KINDS)
      expect(problemsOf(topic, changeHeaders({ ...own, topic, kind, hash, mapping }))).toEqual([]);
    expect(problemsOf(topic, changeHeaders({ ...gone, topic, kind: 'deleted' }), true)).toEqual([]);
  }
  const derived = { collection: 'absence-changes', firstLoad: 'over', absenceState: 'complete' } as const;
  for (const given of [{ mapping }, { mapping: SEVERAL_MAPPINGS, schemaIds: [1, 2] }]) {
    const progress = madeProgress({ ...derived, ...given });
    expect(problemsOf('progress', progressHeaders({ tenantId, progress, body, schemaId: 1 }))).toEqual([]);
  }
  expect(problemsOf('progress', ownerHeaders({ tenantId, id: 'owner', body }))).toEqual([]);
});

it('the schema of headers refuses a header that it does not name, and a record that lacks a header', () => {
  const row = changeHeaders({ ...own, topic: 'users', kind: 'created', hash, mapping });
  expect(problemsOf('users', { ...row, ce_firstsequence: '7' })).toEqual(['ce_firstsequence=7']);
  const { ce_id: _, ...without } = row;
  expect(problemsOf('users', without)).toEqual(['ce_id']);
});
