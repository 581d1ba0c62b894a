import { ABSENCE_CHANGES } from './absence-changes.ts';
import type { Change } from './change.ts';
import { GRADEBOOK_CHANGES } from './gradebook-changes.ts';
import { PEOPLE_CHANGES } from './people-changes.ts';

/** Everything that happens by itself. */
export const CHANGES: readonly Change[] = [...ABSENCE_CHANGES, ...GRADEBOOK_CHANGES, ...PEOPLE_CHANGES];
