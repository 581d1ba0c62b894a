/** A history in which a bug was found once. */
export interface KnownSeed {
  readonly kind: string;
  readonly seed: number;
  readonly why: string;
}

/**
 * These are played first in every run. The history of a seed changes with the code under test, so a seed may no longer
 * repeat what it found. Where possible, a test of its own covers that too.
 */
export const KNOWN_SEEDS: readonly KnownSeed[] = [
  { kind: 'restarts', seed: 51_273, why: 'no incremental sync read a row that a full sync had skipped' },
  { kind: 'restarts', seed: 51_471, why: 'no incremental sync read a row that a full sync had skipped' },
  {
    kind: 'contradictory-chains-restarts',
    seed: 30_099,
    why: 'a chain that waited for an id was split off and lost',
  },
  { kind: 'sound-chains-restarts', seed: 50_194, why: 'a forgotten chain was published again' },
  {
    kind: 'contradictory-chains-restarts',
    seed: 50_343,
    why: 'a resume overlooked a chain that was split off',
  },
  { kind: 'contradictory-chains-restarts', seed: 60_059, why: 'a bare id stood in place of a record' },
  {
    kind: 'sound-chains-restarts',
    seed: 70_263,
    why: 'an absence that was published and forgotten was published again',
  },
  {
    kind: 'contradictory-chains-take-overs',
    seed: 80_322,
    why: 'a resume did not look at former neighbours',
  },
  {
    kind: 'contradictory-chains-take-overs',
    seed: 240_502_859,
    why: 'a rebuild forgot a version that had left and that held a chain together',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 241_258_650,
    why: 'a rebuild gave a version to an absence that had lost it to another absence',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 246_382_917,
    why: 'a rebuild counted a chain as forgotten that waited for an unreadable version',
  },
  {
    kind: 'sound-chains-restarts',
    seed: 247_904_028,
    why: 'a forgotten chain was published again because one of its versions came back and had to wait',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 360_945_660,
    why: 'the id of a forgotten absence of another student counted as free, and no other id was looked up',
  },
  {
    kind: 'contradictory-chains-take-overs',
    seed: 370_080_824,
    why: 'an absence counted as that of the student to whom the hub had given one of its earlier versions',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 370_079_845,
    why: 'a rebuild gave a record to an absence whose event had it as another student’s',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 370_081_601,
    why: 'an absence went to another student whose pending record gave it its id',
  },
  {
    kind: 'contradictory-chains-take-overs',
    seed: 370_079_426,
    why: 'a rebuild did not know the published absence of a chain whose versions are older than its last event',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 370_080_903,
    why: 'a rebuild did not know the published absence of a chain whose versions are older than its last event',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 370_078_661,
    why: 'a rebuild left a chain pending that had been split off and published',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 370_083_379,
    why: 'a record came back as absences had shown it before its end, and not as its last event had it',
  },
  {
    kind: 'contradictory-chains-take-overs',
    seed: 370_078_204,
    why: 'an older event that compaction had left named a version that was split off since',
  },
  {
    kind: 'sound-chains-take-overs',
    seed: 500_000_115,
    why: 'a pseudonym of another mapping stood in a record that must be complete',
  },
  {
    kind: 'contradictory-chains-take-overs',
    seed: 600_000_622,
    why: 'a rebuild gave a chain to another absence, which had ended in it before',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 600_002_461,
    why: 'an absence stayed although its last record had moved to another one, because a resume named its versions differently',
  },
  {
    kind: 'sound-chains-take-overs',
    seed: 500_010_033,
    why: 'an index that a process with another mapping had rebuilt was taken for current, as that process committed nothing',
  },
];
