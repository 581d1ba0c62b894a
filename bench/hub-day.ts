/** A Tuesday morning in term: every run has the same rows, whatever the day. */
export const HUB_STARTS_AT = '2026-03-03T08:00:00Z';
