/** Collections of the contract that are not mirrored yet: a configuration may name them, nothing comes of it. */
export const COLLECTIONS_TO_COME = ['absences', 'absence-changes'] as const;
