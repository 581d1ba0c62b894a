import { problemsOfOwnership } from '../tenants/world-problems.ts';
import type { ChainWorld } from './chain-history.ts';
import {
  problemsOfAgreement,
  problemsOfEvents,
  problemsOfRecords,
  problemsOfSnapshot,
} from './event-problems.ts';
import { differencesFromIndex } from './index-problems.ts';
import { problemsOfMapping } from './mapping-problems.ts';
import { problemsOfChainProgress } from './progress-problems.ts';
import { problemsOfQuiet } from './quiet-problems.ts';
import { problemsOfSoundChains } from './sound-problems.ts';
import { problemsOfStudents } from './student-problems.ts';
import { differencesFromHub, problemsOfVersions } from './state-problems.ts';
import { decodeLog } from './published-log.ts';

/** Checks a whole history of chains, and its final state. */
export function problemsOfChains(world: ChainWorld): string[] {
  const log = decodeLog(world.topics);
  return [
    ...problemsOfOwnership({ ...world, broker: world.topics }),
    ...problemsOfEvents(log),
    ...problemsOfRecords(log),
    ...problemsOfSnapshot(world, log),
    ...problemsOfStudents(log),
    ...problemsOfMapping(world, log),
    ...problemsOfAgreement(world, log),
    ...problemsOfVersions(world, log),
    ...problemsOfSoundChains(world, log),
    ...differencesFromHub(world, log),
    ...problemsOfQuiet(world, log),
    ...problemsOfChainProgress(world),
    ...differencesFromIndex(world, log),
  ];
}
