import picocolors from 'picocolors';
import { describe, expect, it } from 'vitest';
import { probedFindings } from '../../../../src/cli/check/check-hub.ts';
import type { Probed } from '../../../../src/cli/check/probed.ts';
import { judgeBrokers, topicFindings } from '../../../../src/cli/check/check-kafka.ts';
import { redisFindings } from '../../../../src/cli/check/check-redis.ts';
import { subjectFindings } from '../../../../src/cli/check/check-registry.ts';
import { failure, failureOf, findingLines, ok, warning } from '../../../../src/cli/check/finding.ts';
import { RollcallError, type ErrorCode } from '../../../../src/errors.ts';
import type { CollectionProbe } from '../../../../src/hub/probe-hub.ts';
import { collectionNamed, type CollectionName } from '../../../../src/model/collections.ts';
import type { TopicFinding } from '../../../../src/log/manage-topics.ts';

const colors = picocolors.createColors(false);

describe('findings as text', () => {
  it('every finding is shown, aligned, with its remedy and a sum', () => {
    const lines = findingLines(
      [
        {
          title: 'Kafka',
          findings: [ok('brokers', '1 broker'), failure('connection', 'one\n  two', 'Do it.')],
        },
        { title: 'Redis', findings: [warning('version', 'none', 'Look.')] },
      ],
      { colors },
    );
    expect(lines).toEqual([
      'Kafka',
      '  ✓ brokers     1 broker',
      '  ✗ connection  one',
      '                two',
      '                → Do it.',
      '',
      'Redis',
      '  ! version  none',
      '             → Look.',
      '',
      '✗ 1 of 3 checks failed, 1 warning',
    ]);
  });

  it('a narrow terminal breaks lines between words, below the beginning of the text', () => {
    const finding = failure('hub', 'nothing answers at this address', 'Look at the setting hub.baseUrl.');
    expect(
      findingLines([{ title: 'Hub', findings: [finding] }], { colors, columns: 32 }).slice(1, 5),
    ).toEqual([
      '  ✗ hub  nothing answers at this',
      '         address',
      '         → Look at the setting',
      '           hub.baseUrl.',
    ]);
  });

  it('an unknown error quotes no data', () => {
    const { text } = failureOf('token', new SyntaxError('Unexpected token in {"name":"Oppdikta"}'));
    expect(text).not.toContain('Oppdikta');
  });
});

describe('Kafka', () => {
  it('too few brokers fail only where topics are still to be created', () => {
    expect(judgeBrokers({ brokers: 1, replicationFactor: 3, anyMissing: true }).level).toBe('failure');
    expect(judgeBrokers({ brokers: 1, replicationFactor: 3, anyMissing: false }).level).toBe('warning');
    expect(judgeBrokers({ brokers: 3, replicationFactor: 3, anyMissing: true }).level).toBe('ok');
  });

  const topic = (name: string, parts: Partial<TopicFinding>): TopicFinding => ({
    topic: { name, tenantId: 'north', suffix: 'users', partitions: 3, replicationFactor: 1 },
    exists: true,
    partitions: 3,
    differences: [],
    curable: true,
    ...parts,
  });

  it('a missing topic is no failure, and one that differs is, with its difference and remedy', () => {
    const findings = topicFindings([
      topic('a', {}),
      topic('b', { exists: false, partitions: null }),
      topic('c', { differences: ['segment.ms is 9, should be at most 8'] }),
      topic('d', { differences: ['it has 2 partitions, the configuration says 3'], curable: false }),
    ]);
    expect(findings.map(({ level, text }) => [level, text])).toEqual([
      ['ok', '1 as in the contract, 1 will be created at the start'],
      ['failure', 'c: segment.ms is 9, should be at most 8'],
      ['failure', 'd: it has 2 partitions, the configuration says 3'],
    ]);
    expect(findings[1]?.remedy).toContain('rollcall topics apply');
    expect(findings[2]?.remedy).toContain('kafka.partitions');
    expect(findings[2]?.remedy).toContain('rollcall topics recreate users --tenant north --yes');
  });
});

describe('the registry', () => {
  const subject = {
    subject: 's-value',
    registered: true,
    level: 'FULL_TRANSITIVE',
    levelFits: true,
    compatible: true,
    refusesWrite: false,
  };
  const found = (
    ...subjects: (typeof subject | (Omit<typeof subject, 'compatible'> & { compatible: null }))[]
  ) => subjectFindings('schemas', { url: 'http://registry', subjects });

  it('what is not registered yet is no failure', () => {
    expect(found(subject, { ...subject, registered: false, compatible: null })).toEqual([
      ok('schemas', '1 registered and compatible, 1 to be registered at the start'),
    ]);
  });

  it('a level and a schema that do not fit are both reported', () => {
    const findings = found({ ...subject, level: 'NONE', levelFits: false, compatible: false });
    expect(findings.map(({ level }) => level)).toEqual(['failure', 'failure']);
    expect(findings[0]?.text).toContain('has compatibility NONE');
  });

  it('an unchecked schema is not called compatible', () => {
    expect(found({ ...subject, compatible: null })[0]?.text).toContain('not checked for compatibility');
  });
});

describe('Redis', () => {
  const facts = {
    address: 'r:6379',
    version: '7.0.15',
    evictionPolicy: 'noeviction',
    usedBytes: 1024 * 1024,
    maxBytes: 0,
    role: 'master',
  };
  const levels = (parts: Partial<typeof facts>) =>
    Object.fromEntries(redisFindings({ ...facts, ...parts }).map(({ subject, level }) => [subject, level]));

  it('an eviction policy fails', () => {
    expect(levels({ evictionPolicy: 'allkeys-lru' })['eviction']).toBe('failure');
    expect(levels({})['eviction']).toBe('ok');
  });

  it.each([
    ['6.0.16', 'failure'],
    ['5.0.0', 'failure'],
    ['6.2.6', 'ok'],
    ['8.0.0', 'ok'],
  ])('version %s: %s', (version, level) => {
    expect(levels({ version })['version']).toBe(level);
  });

  it('memory that is nearly used up is a warning', () => {
    expect(levels({ maxBytes: 1024 * 1024 })['memory']).toBe('warning');
    expect(levels({ maxBytes: 2 * 1024 * 1024 })['memory']).toBe('ok');
  });
});

describe('the hub', () => {
  const probe: CollectionProbe = {
    rows: 2,
    rowsWithId: 2,
    asked: 2,
    total: 598,
    leadsOut: null,
    paging: 'keyset',
    whySteppedDown: null,
    isRepeated: false,
    short: null,
    skewMs: -400,
    firstId: 'a',
    dateFilterFinds: true,
  };
  const answered = (name: CollectionName, parts: Partial<CollectionProbe> = {}): Probed => ({
    collection: collectionNamed(name),
    probe: { ...probe, ...parts },
  });
  const failed = (name: CollectionName, code: ErrorCode): Probed => ({
    collection: collectionNamed(name),
    error: new RollcallError(code, `${name} failed`, { remedy: 'Do it.' }),
  });
  const levels = (probed: readonly Probed[]) =>
    probedFindings(probed).map(({ subject, level }) => `${subject} ${level}`);

  it('one failing collection does not hide the others', () => {
    expect(
      levels([answered('users'), failed('orgs', 'HUB_FORBIDDEN'), failed('classes', 'HUB_NOT_OFFERED')]),
    ).toEqual(['clock ok', 'users ok', 'orgs failure', 'classes warning']);
  });

  it('a wrong base URL is one failure, not a warning for each collection', () => {
    const skipped: Probed = { collection: collectionNamed('class-students'), skipped: 'no class' };
    const findings = probedFindings([
      failed('users', 'HUB_NOT_OFFERED'),
      failed('orgs', 'HUB_NOT_OFFERED'),
      skipped,
    ]);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({ level: 'failure', remedy: expect.stringContaining('hub.baseUrl') });
  });

  it('a hub without afterSourcedId is a warning that names the way of paging in use', () => {
    const [, finding] = probedFindings([
      answered('users', { paging: 'offset', whySteppedDown: 'the hub answered HTTP 400' }),
    ]);
    expect(finding).toMatchObject({ subject: 'users', level: 'warning' });
    expect(finding?.text).toBe('598 rows; paged by offset; not by afterSourcedId: the hub answered HTTP 400');
  });

  it('one row claims nothing of paging, and a total of 0 beside a row is no count', () => {
    const one = { rows: 1, rowsWithId: 1, paging: null };
    const [, finding] = probedFindings([answered('users', { ...one, total: 1 })]);
    expect(finding?.text).toBe('1 row; too few rows to see how the hub pages');
    const [, zero] = probedFindings([answered('users', { ...one, total: 0 })]);
    expect(zero?.text).toBe('rows, no usable total; too few rows to see how the hub pages');
  });

  it('a hub whose collections are all empty is a warning that names the rights', () => {
    const empty = { rows: 0, rowsWithId: 0, total: 0, paging: null };
    const all = probedFindings([answered('users', empty), answered('orgs', empty)]);
    expect(all.map(({ subject, level }) => `${subject} ${level}`)).toContain('collections warning');
    expect(all.find(({ subject }) => subject === 'collections')?.remedy).toContain('hub.scope');
    expect(levels([answered('users', empty), answered('orgs')])).not.toContain('collections warning');
  });

  it.each([
    ['an answer without a list', { rows: null }, 'warning'],
    ['a link that leads elsewhere', { leadsOut: 'another host' }, 'warning'],
    ['a filter by date that finds no listed row', { dateFilterFinds: false }, 'warning'],
    ['a filter by date that cannot be judged', { dateFilterFinds: null }, 'ok'],
    ['no rows', { rows: 0, total: 0 }, 'ok'],
    ['rows without a readable id', { rowsWithId: 0 }, 'warning'],
    ['fewer rows than the hub counts', { short: { rows: 190, total: 250 } }, 'failure'],
    ['the same page for every request', { isRepeated: true }, 'failure'],
  ] as const)('%s: %s', (_name, parts, level) => {
    expect(levels([answered('users', parts)])).toContain(`users ${level}`);
  });

  it.each([
    [null, 'warning'],
    [1_500, 'ok'],
    [-30_000, 'ok'],
    [-90_000, 'warning'],
  ])('a clock off by %s ms: %s', (skewMs, level) => {
    expect(levels([answered('users', { skewMs })])).toContain(`clock ${level}`);
  });
});
