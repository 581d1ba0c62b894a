/** How much of what the hub says of its absences does not fit. */
export interface KnownContradictions {
  /** The counts are lower bounds: the index has more entries than were read. */
  readonly isAtLeast: boolean;
  readonly absences: number;
  /** Links between versions that are not followed. */
  readonly links: number;
  /** Versions that the hub gave to another student: they are among the rejects. */
  readonly students: number;
  /** The first few. */
  readonly first: readonly ContradictoryAbsence[];
}

export interface ContradictoryAbsence {
  readonly absenceId: string;
  readonly links: number;
  readonly students: number;
}
