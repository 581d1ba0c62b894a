/** What the check found, in the order in which it looked. */
export interface Findings {
  readonly problems: readonly string[];
  /** Notes and prints whether something is as it should be; `why` is printed if it is not. */
  expect(isTrue: boolean, what: string, why?: string): void;
}

export function createFindings(print: (line: string) => void): Findings {
  const problems: string[] = [];
  const expect: Findings['expect'] = (isTrue, what, why = '') => {
    print(`${isTrue ? 'ok    ' : 'FAILED'} ${what}${isTrue || why === '' ? '' : `: ${why.trim()}`}`);
    if (!isTrue) problems.push(what);
  };
  return { problems, expect };
}

/** Paths of what was sent and is not in the answer as it was sent. Empty values count as absent, as the API drops them. */
export function lostFields(sent: unknown, stored: unknown, path = ''): readonly string[] {
  if (isEmpty(sent)) return [];
  if (Array.isArray(sent)) {
    // Admission adds to lists, such as tolerations, behind what was sent.
    if (!Array.isArray(stored) || stored.length < sent.length) return [path];
    return sent.flatMap((each, index) => lostFields(each, stored[index], `${path}[${index}]`));
  }
  if (typeof sent === 'object' && sent !== null) {
    const fields = (stored ?? {}) as Readonly<Record<string, unknown>>;
    return Object.entries(sent).flatMap(([key, value]) => lostFields(value, fields[key], `${path}.${key}`));
  }
  return sent === stored ? [] : [path];
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && Object.values(value).every(isEmpty);
}
