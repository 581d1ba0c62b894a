import type { overviewOf, TenantStatus } from '../../../../src/core/health/tenant-status.ts';
import { COLLECTIONS } from '../../../../src/model/collections.ts';
import { Board } from '../../../../src/telemetry/board.ts';
import type { ReadHeartbeats } from '../../../../src/core/health/tenant-facts.ts';
import { MemoryCoordination } from '../../state/memory-coordination.ts';
import { ANSWERED, caughtUp, configOf, loaded } from './board-of.ts';

type Tenant = TenantStatus & { readonly isHere: boolean };
type Shown = ReturnType<typeof overviewOf<Tenant>> & { needsPerson: boolean; tenantsConfigured: number };

const ownerOf = (process: number, tenant: string): string => `pod-${process}-1-0000a${tenant.slice(1)}`;

/** Five processes that share the tenants, each in fifths; the board of each one reads what the others announce. */
export async function fiveProcesses(startMs: number, count = 20) {
  const tenants = Array.from({ length: count }, (_, at) => `t${String(at).padStart(3, '0')}`);
  let nowMs = startMs;
  const now = (): number => nowMs;
  const coordination = new MemoryCoordination(now);
  const configuration = configOf(tenants, COLLECTIONS);
  const reads: { readonly ids: number; readonly facts: readonly string[] | undefined }[] = [];
  let answer: ReadHeartbeats = (ids, facts) => coordination.livingOwners(ids, facts);
  const read: ReadHeartbeats = (ids, facts) => {
    reads.push({ ids: ids.length, facts });
    return answer(ids, facts);
  };
  const boards = [0, 1, 2, 3, 4].map((at) => {
    const board = new Board(configuration, { version: '1.2.3', now, read });
    const own = tenants.filter((_, index) => index % 5 === at);
    board.showTenants(own);
    for (const id of own) {
      board.note(id, { type: 'owned', owner: ownerOf(at, id) });
      for (const collection of COLLECTIONS) board.note(id, caughtUp(collection, loaded(collection, startMs)));
      board.note(id, ANSWERED);
    }
    return { at, board, own };
  });
  const announce = async (): Promise<void> => {
    for (const { at, board, own } of boards)
      for (const id of own) {
        const heartbeat = { owner: ownerOf(at, id), ownedSinceMs: startMs, info: board.heartbeatOf(id) };
        await coordination.announce(id, heartbeat, 15_000);
      }
  };
  await announce();
  const [first] = boards;
  if (first === undefined) throw new Error('no board');
  return {
    board: first.board,
    boards,
    tenants,
    configuration,
    coordination,
    reads,
    announce,
    passes: (ms: number): void => void (nowMs += ms),
    redisAnswers: (by: ReadHeartbeats): void => void (answer = by),
    shown: async (...detailed: string[]) => (await first.board.json(detailed)) as unknown as Shown,
  };
}
