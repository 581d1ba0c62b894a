import type { Ended } from '../../support/running.ts';
import { rollcall } from './rollcall.ts';

interface Difference {
  readonly collection: string;
  readonly key: string;
  readonly kind: string;
  readonly state: string;
}

/** `<state> <collection> <kind> <key>` of each difference that `verify` reports, sorted, and its exit code. */
export async function verify(
  config: string,
  ...args: readonly string[]
): Promise<{ code: Ended['code']; found: string[] }> {
  const ended = await rollcall(config, 'verify', '--json', ...args);
  const { tenants } = ended.json<{ tenants: { collections: { differences: Difference[] }[] }[] }>();
  const differences = tenants.flatMap(({ collections }) => collections.flatMap((each) => each.differences));
  const found = differences.map(
    ({ state, collection, kind, key }) => `${state} ${collection} ${kind} ${key}`,
  );
  return { code: ended.code, found: found.toSorted() };
}
