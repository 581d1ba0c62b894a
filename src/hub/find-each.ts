/**
 * Asks about each id, several at a time, until one answer ends it. The first failure breaks the others off and is
 * thrown; nothing is under way any more when this ends.
 */
export async function askEach(
  ids: readonly string[],
  options: { concurrency: number; signal: AbortSignal },
  ask: (id: string, signal: AbortSignal) => Promise<'go-on' | 'enough'>,
): Promise<void> {
  const brokenOff = new AbortController();
  const signal = AbortSignal.any([options.signal, brokenOff.signal]);
  const left = [...new Set(ids)];
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      try {
        if ((await ask(id, signal)) === 'enough') left.length = 0;
      } catch (error) {
        failures.push(error);
        left.length = 0;
        brokenOff.abort();
      }
    }
  };
  const workers = Math.min(left.length, Math.max(1, options.concurrency));
  await Promise.all(Array.from({ length: workers }, worker));
  if (failures.length > 0) throw failures[0];
}
