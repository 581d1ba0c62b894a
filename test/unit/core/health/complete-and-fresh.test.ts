import { expect, it } from 'vitest';
import type { TenantFacts } from '../../../../src/core/health/tenant-facts.ts';
import { completeAndFresh } from '../../../../src/core/health/complete-and-fresh.ts';
import { tenantStatus, UNKNOWN } from '../../../../src/core/health/tenant-status.ts';
import { monitorsOf } from '../../../../src/telemetry/collection-monitor.ts';
import { configOf, loaded } from '../../telemetry/support/board-of.ts';

const NOW_MS = Date.parse('2026-11-20T12:00:00Z');
const since = '2026-11-20T07:15:42.123Z';
const away = { part: 'kafka', why: 'no answer', remedy: 'Wait.', since } as const;
const later = { ...away, part: 'short', since: '2026-11-20T09:00:00.000Z' } as const;

/** `agoMs`: how long ago the last syncs ended. */
function answer(more: Partial<TenantFacts>, agoMs: number | null = 0): string {
  const [tenant] = configOf(['north'], ['users']).config.tenants;
  if (tenant === undefined) throw new Error('no tenant');
  const collections = [...monitorsOf(tenant)].map(([name, monitor]) => {
    monitor.progress = agoMs === null ? null : loaded(name, NOW_MS - agoMs);
    return monitor.facts();
  });
  const facts = { ...UNKNOWN, tenant: 'north', nowMs: NOW_MS, isOwnerAlive: true, collections, ...more };
  return completeAndFresh(tenantStatus(facts), NOW_MS);
}

const HOURS_MS = 5 * 3_600_000;

it.each<[string, Partial<TenantFacts>, (number | null)?]>([
  ['complete and fresh, up to 6 min ago', {}],
  ['not fresh since 2026-11-20T07:15Z, up to 5 h ago', { reported: [away] }, HOURS_MS],
  ['not complete since 2026-11-20T09:00Z', { reported: [later] }],
  [
    'neither complete nor fresh since 2026-11-20T07:15Z, up to 5 h ago',
    { reported: [later, away] },
    HOURS_MS,
  ],
  ['loading: 0 of 1 collection complete', {}, null],
  ['not fresh, up to 5 h ago', { isOwnerAlive: false }, HOURS_MS],
])('the copy of a tenant is shown as: %s', (said, facts, agoMs) => {
  expect(answer(facts, agoMs)).toBe(said);
});

it.each(['kafka', 'registry', 'hub', 'quota'] as const)(
  'a copy counts as fresh while changes arrive in time, even if the part %s is not ready',
  (part) => {
    expect(answer({ reported: [{ ...away, part }] })).toBe('complete and fresh, up to 6 min ago');
  },
);
