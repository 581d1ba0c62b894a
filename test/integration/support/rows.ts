/** The id of a row. Throws for a row without one, because a test without it proves nothing. */
export function idOf(row: object | undefined): string {
  return textIn(row, 'sourcedId');
}

export function textIn(row: object | undefined, field: string): string {
  const value = (row as Readonly<Record<string, unknown>> | undefined)?.[field];
  if (typeof value !== 'string') throw new Error(`there is no row with a ${field}`);
  return value;
}
