import { expect, it } from 'vitest';
import { showTroubles } from '../../../src/cli/status.ts';
import type { TenantStatus } from '../../../src/core/health/tenant-status.ts';
import { printing } from './support/printing.ts';

const FAILS = { part: 'collection', why: 'No list came (HUB_TIMEOUT)', remedy: 'Wait.' } as const;
const REJECTS = { part: 'rejects', why: '62 of 210 rows cannot be read', remedy: 'Read them.' } as const;
const collections = [
  { collection: 'users', trouble: FAILS },
  { collection: 'orgs', trouble: FAILS },
  { collection: 'classes', trouble: REJECTS },
  { collection: 'courses', trouble: null },
];

it.each([
  ['a decision', '', ['users, orgs', 'Wait.', 'classes', 'Read them.']],
  ['one of the reasons', FAILS.why, ['classes', 'Read them.']],
])('status gives each reason and remedy once where the headline is %s', (_, headline, reasons) => {
  const { output, said } = printing();
  showTroubles(output, { headline, collections } as unknown as TenantStatus, 0);
  expect(said.stdout.match(/(?<=✗ )[\w, ]+(?=:)|(?<=→ ).*/g)).toEqual(reasons);
});
