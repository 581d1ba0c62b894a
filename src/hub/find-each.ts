/**
 * Calls `ask` for each distinct id, several at a time, until one call returns `enough`. The first failure aborts the
 * other calls and is thrown. No call runs any more when this returns or throws.
 */
export async function askEach(
  ids: readonly string[],
  options: { concurrency: number; signal: AbortSignal },
  ask: (id: string, signal: AbortSignal) => Promise<'go-on' | 'enough'>,
): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const remaining = [...new Set(ids)];
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let id = remaining.pop(); id !== undefined; id = remaining.pop()) {
      try {
        if ((await ask(id, signal)) === 'enough') remaining.length = 0;
      } catch (error) {
        failures.push(error);
        remaining.length = 0;
        failed.abort();
      }
    }
  };
  const workers = Math.min(remaining.length, Math.max(1, options.concurrency));
  await Promise.all(Array.from({ length: workers }, worker));
  if (failures.length > 0) throw failures[0];
}
