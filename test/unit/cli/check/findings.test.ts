import picocolors from 'picocolors';
import { describe, expect, it } from 'vitest';
import {
  brokersFinding,
  redisFindings,
  subjectFindings,
  topicFindings,
} from '../../../../src/cli/check/check-services.ts';
import {
  failure,
  failureOf,
  findingLines,
  ok,
  summaryLine,
  warning,
} from '../../../../src/cli/check/finding.ts';
import { misfit, wrongLevel } from '../../../../src/log/registry-errors.ts';
import type { TopicFinding } from '../../../../src/log/manage-topics.ts';

const colors = picocolors.createColors(false);

describe('findings as text', () => {
  it('every finding is shown, aligned, with its remedy and a sum', () => {
    const findings = [
      ok('brokers', '1 broker'),
      failure('connection', 'one\n  two', 'Do it.'),
      warning('rights', 'none', 'Look.'),
    ];
    expect(findingLines('Kafka', findings, colors)).toEqual([
      'Kafka',
      '  ✓ brokers     1 broker',
      '  ✗ connection  one',
      '                two',
      '                → Do it.',
      '  ! rights      none',
      '                → Look.',
      '',
    ]);
    expect(summaryLine(findings, colors)).toBe('✗ 1 of 3 checks failed, 1 warning');
  });

  it('an unknown error quotes no data', () => {
    const { text } = failureOf('token', new SyntaxError('Unexpected token in {"name":"Oppdikta"}'));
    expect(text).not.toContain('Oppdikta');
  });
});

describe('Kafka', () => {
  it('too few brokers fail only where topics are still to be created', () => {
    const level = (brokers: number, anyMissing: boolean) => brokersFinding(brokers, 3, anyMissing).level;
    expect([level(1, true), level(1, false), level(3, true)]).toEqual(['failure', 'warning', 'ok']);
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
  const at = { url: 'http://registry', subject: 's-value' };
  const fits = { registered: true, isCompared: true, problems: [] };

  it('what is not registered yet is no failure', () => {
    expect(subjectFindings('schemas', [fits, { ...fits, registered: false }])).toEqual([
      ok('schemas', '1 registered and compatible, 1 to be registered at the start'),
    ]);
  });

  it('a level and a schema that do not fit are both reported', () => {
    const findings = subjectFindings('schemas', [
      { ...fits, problems: [wrongLevel('NONE', at), misfit(at)] },
    ]);
    expect(findings.map(({ level }) => level)).toEqual(['failure', 'failure']);
    expect(findings[0]?.text).toContain('has compatibility NONE');
  });

  it('an unchecked schema is not called compatible', () => {
    const [finding] = subjectFindings('schemas', [{ ...fits, isCompared: false }]);
    expect(finding?.text).toBe('1 registered, which this registry compares only when it registers');
  });
});

describe('Redis', () => {
  const facts = {
    address: 'r:6379',
    version: '7.0.15',
    evictionPolicy: 'noeviction',
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
});
