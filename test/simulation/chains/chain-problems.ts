import {
  problemsOfAgreement,
  problemsOfEvents,
  problemsOfRecords,
  problemsOfSnapshot,
} from './event-problems.ts';
import { differencesFromIndex } from './index-problems.ts';
import { problemsOfMapping } from './mapping-problems.ts';
import type { MirroredAbsences } from './mirrored-absences.ts';
import { problemsOfChainProgress } from './progress-problems.ts';
import { decodeLog } from './published-log.ts';
import { problemsOfSoundChains } from './sound-problems.ts';
import { differencesFromHub, problemsOfVersions } from './state-problems.ts';
import { problemsOfStudents } from './student-problems.ts';

/** Checks a whole history of absences, and its final state. */
export function problemsOfChains(world: MirroredAbsences): string[] {
  const log = decodeLog(world.broker);
  return [
    ...problemsOfEvents(log),
    ...problemsOfRecords(log),
    ...problemsOfSnapshot(world, log),
    ...problemsOfStudents(log),
    ...problemsOfMapping(world, log),
    ...problemsOfAgreement(world, log),
    ...problemsOfVersions(world, log),
    ...problemsOfSoundChains(world, log),
    ...differencesFromHub(world, log),
    ...problemsOfChainProgress(world),
    ...differencesFromIndex(world, log),
  ];
}
