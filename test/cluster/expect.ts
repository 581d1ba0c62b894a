/** Prints whether something is as it should be, and notes what is not; `why` is printed then. */
export type Expect = (isTrue: boolean, what: string, why?: string) => void;

/** `problems`: what was not as it should be. */
export function createExpect(print: (line: string) => void): { expect: Expect; problems: readonly string[] } {
  const problems: string[] = [];
  const expect: Expect = (isTrue, what, why = '') => {
    print(`${isTrue ? 'ok    ' : 'FAILED'} ${what}${isTrue || why === '' ? '' : `: ${why.trim()}`}`);
    if (!isTrue) problems.push(what);
  };
  return { expect, problems };
}
