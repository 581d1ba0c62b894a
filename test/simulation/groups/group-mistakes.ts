import type { JoinRequest } from './group-coordinator.ts';
import { HEARTBEAT_MS, type GroupMistake } from './group-worker.ts';

/** Mistakes that the code under test could make, and the problem that must be found. */
export const GROUP_MISTAKES: readonly (GroupMistake & { readonly name: string; readonly finds: string })[] = [
  {
    name: 'a lease never ends',
    finds: 'mirrors after its lease',
    ignoresLost: true,
  },
  {
    name: 'an answer that is too old renews the lease',
    finds: 'mirrors after its lease',
    broker: ({ heartbeat }, worker) => ({
      heartbeat: async (request) => {
        const sentAtMs = worker.now();
        await heartbeat(request);
        worker.behindMs += Math.max(0, worker.now() - sentAtMs - HEARTBEAT_MS);
      },
    }),
  },
  {
    name: 'a worker claims after its lease what it had',
    finds: 'claims what it does not mirror',
    broker: ({ joinGroup }, worker) => ({
      joinGroup: (request) => joinGroup(claiming(request, worker.given)),
    }),
  },
  {
    name: 'a worker comes back under another id',
    finds: 'a tenant has no owner for too long after: leave',
    broker: ({ joinGroup }) => ({ joinGroup: (request) => joinGroup({ ...request, memberId: '' }) }),
  },
  {
    name: 'the leader does not look at what the others hold',
    finds: 'an assignment moves more tenants than needed',
    broker: ({ joinGroup }) => ({
      joinGroup: async (request) => {
        const joined = await joinGroup(request);
        const members = joined.members.map(({ memberId, memberMetadata }) => ({
          memberId,
          memberMetadata: holding(memberMetadata, []),
        }));
        return { ...joined, members };
      },
    }),
  },
  {
    name: 'a worker that ends does not leave',
    finds: 'a tenant has no owner for too long after: leave',
    broker: () => ({ leaveGroup: async () => undefined }),
  },
  {
    name: 'an older writer is not fenced',
    finds: 'commits after a newer writer of the tenant',
    isUnfenced: true,
  },
];

function claiming(request: JoinRequest, holds: readonly string[]): JoinRequest {
  const [{ metadata }] = request.groupProtocols;
  return { ...request, groupProtocols: [{ metadata: holding(metadata, holds) }] };
}

function holding(metadata: Buffer, holds: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify({ ...(JSON.parse(String(metadata)) as object), holds }));
}
