/** A history in which a bug was found once. */
export interface KnownSeed {
  readonly kind: string;
  readonly seed: number;
  readonly why: string;
}

/**
 * Played first in every run. What a seed tells changes with the code under test: each stands for the time when it was
 * found, and what it found is tested by name as well, where it could be.
 */
export const KNOWN_SEEDS: readonly KnownSeed[] = [
  { kind: 'restarts', seed: 51_273, why: 'a row that a full pass passed over was read by no delta' },
  { kind: 'restarts', seed: 51_471, why: 'a row that a full pass passed over was read by no delta' },
  {
    kind: 'contradictory-chains-restarts',
    seed: 30_099,
    why: 'a chain that waited for an id was split off and lost',
  },
  { kind: 'sound-chains-restarts', seed: 50_194, why: 'a forgotten chain was told again' },
  { kind: 'contradictory-chains-restarts', seed: 50_343, why: 'a resume overlooked what was split off' },
  { kind: 'contradictory-chains-restarts', seed: 60_059, why: 'a bare id stood in place of a record' },
  { kind: 'sound-chains-restarts', seed: 70_263, why: 'what was told and forgotten was told again' },
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
    why: 'a rebuild gave a version to an absence that had lost it to another one',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 246_382_917,
    why: 'a rebuild took for forgotten what waited for a version that could not be read',
  },
  {
    kind: 'sound-chains-restarts',
    seed: 247_904_028,
    why: 'a forgotten chain was told again, as one of its versions came anew and had to wait',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 360_945_660,
    why: 'the id of a forgotten absence of another student passed for free, and no other one was looked up',
  },
  {
    kind: 'contradictory-chains-take-overs',
    seed: 370_080_824,
    why: 'an absence passed for the student to whom the hub had given one of its earlier versions',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 370_079_845,
    why: 'a rebuild took a record for the absence that an event told of it as another student’s',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 370_081_601,
    why: 'an absence went to another student whose record gave it its id, as that record waited',
  },
  {
    kind: 'contradictory-chains-take-overs',
    seed: 370_079_426,
    why: 'a rebuild did not know under which absence a chain was told whose versions are older than its last event',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 370_080_903,
    why: 'a rebuild did not know under which absence a chain was told whose versions are older than its last event',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 370_078_661,
    why: 'a rebuild left a chain open that had been split off and told',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 370_083_379,
    why: 'a record came back as it was shown before its end, and not as it was told',
  },
  {
    kind: 'contradictory-chains-take-overs',
    seed: 370_078_204,
    why: 'an older event that compaction had left named a version that was split off since',
  },
  {
    kind: 'sound-chains-take-overs',
    seed: 500_000_115,
    why: 'a pseudonym of another mapping had passed for a record that must be whole',
  },
  {
    kind: 'contradictory-chains-take-overs',
    seed: 600_000_622,
    why: 'a rebuild took a chain for another absence, which had ended in it before',
  },
  {
    kind: 'contradictory-chains-restarts',
    seed: 600_002_461,
    why: 'an absence stayed whose last record had come under another one, as a resume named its versions otherwise',
  },
];
