/** The contradictions between the hub's absence records. */
export interface KnownContradictions {
  /** The counts are lower bounds: the index has more entries than were read. */
  readonly isAtLeast: boolean;
  /** Number of absences, including chains that are not published. */
  readonly absences: number;
  /** Of these, the absences whose only contradiction is one that the hub's next record usually ends: no warning. */
  readonly passing: number;
  readonly versions: number;
  /** Number by kind, the gravest kind first. */
  readonly byKind: Readonly<Record<string, number>>;
  /** The first few, the gravest first. */
  readonly first: readonly ShownContradiction[];
}

export interface ShownContradiction {
  readonly kind: string;
  /** Null for a chain that is not published. */
  readonly absenceId: string | null;
  /** The first few. */
  readonly versionIds: readonly string[];
  readonly versions: number;
}
