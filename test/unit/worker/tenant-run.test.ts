import { expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { sleep } from '../../../src/runtime.ts';
import type { Coordination } from '../../../src/state/coordination.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import { TenantRun } from '../../../src/worker/tenant-run.ts';

it('a process announces the health of a tenant before it answers a command, so that status shows it', async () => {
  const did: string[] = [];
  const stop = new AbortController();
  const coordination: Partial<Coordination> = {
    take: async () => (did.length === 0 ? { id: '1', kind: 'pull', parameters: {} } : null),
    answer: async (_tenant, _request, { state }) => {
      did.push(state);
      stop.abort();
    },
  };
  const tenant = { tenantId: 'north', owner: 'me', runtime: { sleep } } as unknown as Tenant;
  const run = new TenantRun(tenant, {
    coordination: coordination as Coordination,
    announce: async () => void did.push('announced'),
  });
  const failure = new RollcallError('KAFKA_TOPIC_MISMATCH', 'Topics differ', { remedy: 'Correct them.' });
  await run.refuse(failure, 60_000, stop.signal);
  expect(did).toEqual(['announced', 'failed']);
});
