import type { OwnerRequest } from '../state/coordination.ts';
import { APPROVE } from './deletes.ts';
import { otherVersion, type OwnerRequestKind, type OwnerWork } from './owner-request.ts';
import { PULL } from './pull.ts';
import { REBUILD } from './rebuild.ts';
import { REPAIR } from './repair.ts';
import { REPUBLISH } from './republish.ts';

// Each kind checks its parameters itself, so this list can erase their types.
const KINDS: readonly Kind[] = [
  erased(PULL),
  erased(APPROVE),
  erased(REBUILD),
  erased(REPAIR),
  erased(REPUBLISH),
];

interface Kind {
  readonly kind: string;
  readonly handle: (given: unknown, work: OwnerWork) => Promise<unknown>;
}

function erased<P extends Readonly<Record<string, unknown>>, R>(each: OwnerRequestKind<P, R>): Kind {
  return { kind: each.kind, handle: async (given, work) => each.handle(each.read(given), work) };
}

/** Carries out a command's request to the owner. Throws `USAGE_INVALID` for a kind that this version does not know. */
export async function handleRequest(request: OwnerRequest, work: OwnerWork): Promise<unknown> {
  const known = KINDS.find(({ kind }) => kind === request.kind);
  if (known === undefined)
    throw otherVersion(`The owner of the tenant does not know the request ${request.kind}`);
  return known.handle(request.parameters, work);
}
