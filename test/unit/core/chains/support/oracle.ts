import type { ChainRow } from '../../../../../src/core/chains/chain-state.ts';

/**
 * Computes from nothing which versions are current: by reachability of every version from every other one, cubic and
 * plain on purpose. `hub` holds the rows that the hub has now, `left` those that departed, as last seen.
 */
export function currentVersions(
  hub: readonly ChainRow[],
  left: readonly ChainRow[],
): { current: Set<string>; chains: string[][] } {
  const rows = new Map([...left, ...hub].map((row) => [row.id, row]));
  const present = new Set(hub.map(({ id }) => id));
  const names = (id: string, student: string | null): string =>
    rows.has(id) ? id : `?${id}?${student ?? ''}`;
  const nexts = new Map<string, Set<string>>();
  const nodes = new Set<string>(rows.keys());
  for (const row of rows.values()) {
    for (const [kind, id] of [
      ['replaces', row.replaces],
      ['replacedBy', row.replacedBy],
    ] as const) {
      if (id === null || id === row.id) continue;
      const other = rows.get(id);
      if (other !== undefined && other.studentId !== row.studentId) continue;
      const name = names(id, row.studentId);
      nodes.add(name);
      const [from, to] = kind === 'replaces' ? [name, row.id] : [row.id, name];
      nexts.set(from, (nexts.get(from) ?? new Set()).add(to));
    }
  }
  const after = new Map([...nodes].map((node) => [node, reach(node, (at) => nexts.get(at) ?? [])]));
  const neighbours = (node: string): string[] =>
    [...nodes].filter(
      (other) => (nexts.get(node)?.has(other) ?? false) || (nexts.get(other)?.has(node) ?? false),
    );
  const chains: string[][] = [];
  const done = new Set<string>();
  const current = new Set<string>();
  for (const node of nodes) {
    if (done.has(node)) continue;
    const members = [node, ...reach(node, neighbours)];
    for (const member of members) done.add(member);
    const chain = [...new Set(members)];
    if (!chain.some((id) => present.has(id))) continue;
    chains.push(chain.filter((id) => present.has(id)));
    const tail = tailOf({ chain, rows, present, nexts, after });
    if (present.has(tail) && rows.get(tail)?.isDeleted === false) current.add(tail);
  }
  return { current, chains };
}

/** Gives every node that can be reached in one step or more. */
function reach(from: string, next: (node: string) => Iterable<string>): Set<string> {
  const met = new Set<string>();
  const todo = [...next(from)];
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    if (met.has(node)) continue;
    met.add(node);
    todo.push(...next(node));
  }
  return met;
}

function tailOf(view: {
  chain: readonly string[];
  rows: ReadonlyMap<string, ChainRow>;
  present: ReadonlySet<string>;
  nexts: ReadonlyMap<string, ReadonlySet<string>>;
  after: ReadonlyMap<string, ReadonlySet<string>>;
}): string {
  const { chain, rows, present } = view;
  const counts = (id: string): boolean => present.has(id) || rows.get(id)?.isDeleted === true;
  const leadsOn = (id: string): boolean => {
    const beyond = [...(view.after.get(id) ?? [])];
    // A loop of departed versions keeps what leads into it from being the end, as any version would.
    return beyond.some((other) => counts(other) || (view.after.get(other)?.has(other) ?? false));
  };
  const ends = chain.filter((id) => counts(id) && !leadsOn(id));
  const loopers = chain.filter((id) => present.has(id) && isFedByLoop(view, id));
  const candidates =
    ends.length > 0 ? ends : loopers.length > 0 ? loopers : chain.filter((id) => present.has(id));
  const rank = (id: string): number =>
    (present.has(id) && rows.get(id)?.isDeleted === false ? 2 : 0) + (isDisowned(view, id) ? 0 : 1);
  return candidates.reduce((best, id) =>
    rank(id) > rank(best) || (rank(id) === rank(best) && id > best) ? id : best,
  );
}

function isFedByLoop(view: Parameters<typeof tailOf>[0], id: string): boolean {
  return view.chain.some(
    (other) =>
      view.after.get(other)?.has(other) === true && (other === id || view.after.get(other)?.has(id) === true),
  );
}

/** Says whether, on the way back to the beginning, some version names another successor that can be the end. */
function isDisowned(view: Parameters<typeof tailOf>[0], id: string): boolean {
  const met = new Set<string>();
  const previous = (at: string): string | undefined => {
    const own = view.rows.get(at)?.replaces;
    const befores = view.chain.filter((other) => view.nexts.get(other)?.has(at) === true);
    const stated = befores.find((other) => other === own || other.startsWith(`?${String(own)}?`));
    return stated ?? befores.map(bare).sort().map(fromBare(befores)).at(-1);
  };
  for (let at: string | undefined = id; at !== undefined && !met.has(at);) {
    met.add(at);
    const before: string | undefined = previous(at);
    if (before === undefined) return false;
    const named = view.rows.get(before)?.replacedBy ?? null;
    const isOther =
      named !== null && named !== at && named !== before && view.nexts.get(before)?.has(named) === true;
    if (isOther && (view.present.has(named) || view.rows.get(named)?.isDeleted === true)) return true;
    at = before;
  }
  return false;
}

function bare(name: string): string {
  return name.startsWith('?') ? name.slice(1, name.indexOf('?', 1)) : name;
}

function fromBare(names: readonly string[]): (id: string) => string {
  return (id) => names.find((name) => bare(name) === id) ?? id;
}
