import * as fc from 'fast-check';

import type { ChainRow, VersionEntry } from '../../../../../src/core/chains/chain-state.ts';
import { ChainShell, type Ask, type Resolve } from './chain-shell.ts';
import { LivingHub } from './living-hub.ts';
import { currentVersions } from './oracle.ts';
import { replay } from './replay.ts';
import { isSameRow } from './rows.ts';

const TAMPER = ['replaces', 'replacedBy', 'isDeleted', 'studentId', 'gone', 'back'] as const;
const ORDERLY = [
  'create',
  'create',
  'replace',
  'replace',
  'replace',
  'remove',
  'purgeOldest',
  'purgeChain',
  'stamp',
  'delta',
  'delta',
  'delta',
  'restart',
  'full',
  'rebuild',
] as const;

/**
 * `orderly` has chains as spec 3 describes them. `contradictory` allows any links. `nameless` has records that name no
 * student, or whose ancestor arrives later and is another student's. `forgetful` allows any links and loses the index.
 * For the last two the check covers only what consumers read, not which versions are current.
 */
export type World = 'orderly' | 'contradictory' | 'nameless' | 'forgetful';

const STRAYS = ['stray', 'stray', 'findLost', 'findLost'] as const;

export interface Command {
  readonly kind: (typeof ORDERLY)[number] | (typeof STRAYS)[number] | 'tamper' | 'replaceOneSided' | 'unname';
  readonly choice: number;
  readonly crash: boolean;
}

export function histories(world: World, maxLength: number): fc.Arbitrary<Command[]> {
  const contradictory = [...ORDERLY, ...STRAYS, 'tamper', 'tamper', 'tamper', 'replaceOneSided'] as const;
  const kinds: readonly Command['kind'][] = {
    orderly: ORDERLY,
    contradictory,
    nameless: [...ORDERLY, ...STRAYS, ...STRAYS, 'replaceOneSided', 'unname', 'unname'] as const,
    forgetful: contradictory,
  }[world];
  return fc.array(
    fc.record({
      kind: fc.constantFrom(...kinds),
      choice: fc.nat({ max: 100_000 }),
      crash: fc.boolean(),
    }),
    { maxLength, size: 'max' },
  );
}

/** Runs a history and checks at every full sync and at the end. @throws Error if a check fails */
export function check(world: World, commands: readonly Command[], resolve: Resolve): void {
  const hub = new LivingHub();
  let shell = new ChainShell(resolve);
  for (const command of commands) {
    if (command.kind === 'rebuild') {
      // For departed versions and contradictions, the topics show less than the index.
      settleAndCheck({ world, hub, shell, choice: command.choice });
      if (world === 'orderly' || world === 'forgetful') shell = shell.rebuilt();
    } else if (command.kind === 'delta') delta(hub, shell, command);
    else if (command.kind === 'restart') fullPass(hub, shell, command);
    else if (command.kind === 'full') settleAndCheck({ world, hub, shell, choice: command.choice });
    else change(hub, command, (id) => shell.committed.has(id));
  }
  settleAndCheck({ world, hub, shell, choice: commands.length });
}

/** Changes the hub before any sync sees it. */
export function change(hub: LivingHub, { kind, choice }: Command, isSeen: (id: string) => boolean): void {
  if (kind === 'create') hub.create(choice);
  else if (kind === 'replace') hub.replace(choice, choice % 3 === 0 ? 'replaces' : 'both');
  else if (kind === 'replaceOneSided') hub.replace(choice, 'replacedBy');
  else if (kind === 'stray') hub.stray(choice);
  else if (kind === 'findLost') hub.findLost(choice);
  else if (kind === 'unname') hub.unname(choice);
  else if (kind === 'remove') hub.remove(choice);
  else if (kind === 'purgeOldest') hub.purgeOldest(choice, isSeen);
  else if (kind === 'purgeChain') hub.purgeChain(choice);
  else if (kind === 'stamp') hub.stamp(choice);
  else if (kind === 'tamper') hub.tamper(Math.floor(choice / 6), TAMPER[choice % 6] ?? 'replaces');
}

/** Delivers some of the changes, in some order and pages; the hub may answer, fail, or not be asked at all. */
function delta(hub: LivingHub, shell: ChainShell, { choice, crash }: Command): void {
  const ask = [askOf(hub), failing(hub, choice), undefined][choice % 3];
  const some = shuffled([...hub.dirty], choice).filter((_, index) => (index * 31 + choice) % 4 > 0);
  for (const [page, ids] of pagesOf(some, 1 + (choice % 4)).entries()) {
    const rows = ids.flatMap((id) => hub.rows.get(id) ?? []);
    const changed = rows.filter((one) => !isSameRow(shell.committed.get(one.id), one));
    const isLost = crash && page === choice % 2;
    // A re-stamp that reaches the resolver changes nothing either.
    shell.deliver({ rows: choice % 5 === 0 ? rows : changed, ask, crash: isLost });
    if (isLost) return;
    for (const id of ids) hub.dirty.delete(id);
  }
}

/** Delivers all rows in some order, then what is pending, then what vanished. A crash may cut any of it short. */
function fullPass(hub: LivingHub, shell: ChainShell, options: { choice: number; crash: boolean }): void {
  const { choice } = options;
  const ask = askOf(hub);
  const before = shell.present();
  const changed = shuffled([...hub.rows.values()], choice).filter(
    (one) => !isSameRow(shell.committed.get(one.id), one) || shell.version(one.id)?.state !== 'present',
  );
  for (const [page, rows] of pagesOf(changed, 1 + (choice % 5)).entries()) {
    const crash = options.crash && page === choice % 3;
    shell.deliver({ rows, ask: choice % 2 === 0 ? ask : undefined, crash });
    if (crash) return;
  }
  const vanished = before.filter((id) => !hub.rows.has(id));
  const final = { mode: 'final', ask } as const;
  if (choice % 3 === 0) shell.deliver({ vanished, revisit: shell.unsettled(), ...final });
  else {
    for (const ids of pagesOf(shuffled(vanished, choice), 2)) shell.deliver({ vanished: ids, ask });
    shell.deliver({ revisit: shell.unsettled(), ...final });
  }
  hub.dirty.clear();
}

function settleAndCheck(parts: { world: World; hub: LivingHub; shell: ChainShell; choice: number }): void {
  const { hub, shell } = parts;
  fullPass(hub, shell, { choice: parts.choice, crash: false });
  const rows = [...hub.rows.values()];
  const left = [...shell.committed.values()].filter(({ id }) => !hub.rows.has(id));
  same("records under another student's absence id", shell.strangers, []);
  same('versions at the hub', shell.present().sort(), rows.map(({ id }) => id).sort());
  const hasEventsOnly = parts.world === 'nameless' || parts.world === 'forgetful';
  if (!hasEventsOnly) {
    const { current } = currentVersions(rows, left);
    same('current versions', [...shell.currents.values()].sort(), [...current].sort());
  }
  same('pending chains', shell.unsettled(), []);
  const believed = replay(shell.steps);
  const live = [...believed]
    .filter(([, { isDeleted }]) => !isDeleted)
    .map(([id, one]): [string, string] => [id, one.versionId]);
  same('absences as replayed', live.sort(byId), [...shell.currents].sort(byId));
  for (const [id, one] of believed) {
    const entry = shell.absence(id);
    same(
      `what was published of ${id}`,
      [entry?.step, entry?.publishedVersionId, entry?.isPublishedAsDeleted],
      [one.step, one.versionId, one.isDeleted],
    );
  }
  if (parts.world === 'orderly') checkPublished(hub, shell, believed);
  if (!hasEventsOnly) checkQuiet({ world: parts.world, rows, shell, ask: askOf(hub) });
}

/** Checks that each version of an untampered chain is published once, in order, under the id of the first. */
function checkPublished(hub: LivingHub, shell: ChainShell, believed: ReturnType<typeof replay>): void {
  for (const { versions } of hub.chains) {
    const owners = [...believed].filter(([, { publishedIds }]) =>
      publishedIds.some((id) => versions.includes(id)),
    );
    const present = versions.filter((id) => hub.rows.has(id));
    if (present.length === 0 && owners.length === 0) continue;
    same(`absences of the chain ${versions.join(' ')}`, owners.length, 1);
    const [absenceId, one] = owners[0] ?? ['', undefined];
    const publishedIds = one?.publishedIds ?? [];
    same(
      'the order of what was published',
      publishedIds,
      versions.filter((id) => publishedIds.includes(id)),
    );
    const unpublished = present.filter((id) => !publishedIds.includes(id));
    same('versions at the hub that were never published', unpublished, []);
    const [first] = publishedIds;
    const oldest = versions.indexOf(absenceId);
    same('the absence has the id of a version', oldest >= 0, true);
    const isEarliest = oldest <= versions.indexOf(first ?? '') && versions.slice(oldest).length > 0;
    same('the absence has the id of its oldest version', isEarliest, true);
    const tail = hub.rows.get(versions.at(-1) ?? '');
    same('deleted if the tail is', one?.isDeleted, tail === undefined || tail.isDeleted);
  }
  const causes = new Set(shell.steps.map(({ cause }) => cause));
  same('merges', causes.has('MERGED'), false);
  const restored = shell.steps.filter(({ operation }) => operation === 'RESTORED');
  same('restored', restored, []);
}

/** Checks that unchanged rows, alone or together, lead to no event and no index change. */
function checkQuiet(parts: { world: World; rows: readonly ChainRow[]; shell: ChainShell; ask: Ask }): void {
  const { rows, shell } = parts;
  for (const republication of [rows, ...rows.slice(0, 3).map((one) => [one])]) {
    const outcome = shell.deliver({ rows: republication, ask: parts.ask, crash: true });
    same('steps of unchanged rows', outcome.steps, []);
    // Some facts may be found later than in the rows that caused them: the absence of versions that were never
    // published or whose absence fell apart while deleted, and that a deleted absence is part of another one. None of
    // them leads to an event.
    const isLoose = parts.world === 'contradictory' || shell.isRebuilt;
    const absences = [...outcome.absences].filter(([id, after]) => {
      const before = shell.absence(id);
      return (
        !isLoose || before?.step !== after.step || !before.isPublishedAsDeleted || !after.isPublishedAsDeleted
      );
    });
    same('absence changes of unchanged rows', absences, []);
    const stored = [...outcome.versions].filter(([id, after]) => {
      const before = shell.version(id);
      return !isLoose || after === null || !isSameEntry({ ...after, absenceId: null }, before);
    });
    same('index changes of unchanged rows', stored, []);
  }
}

function isSameEntry(one: VersionEntry, other: VersionEntry | null): boolean {
  return other !== null && JSON.stringify(one) === JSON.stringify({ ...one, ...other, absenceId: null });
}

function byId([one]: readonly [string, string], [other]: readonly [string, string]): number {
  return one < other ? -1 : 1;
}

function same(what: string, actual: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${what}: ${one}, not ${other}`);
}

function askOf(hub: LivingHub): Ask {
  return (id) => hub.rows.get(id) ?? null;
}

function failing(hub: LivingHub, choice: number): Ask {
  return (id) => ((id.length + choice) % 2 === 0 ? undefined : (hub.rows.get(id) ?? null));
}

export function pagesOf<Item>(items: readonly Item[], length: number): Item[][] {
  const pages: Item[][] = [];
  for (let at = 0; at < items.length; at += length) pages.push(items.slice(at, at + length));
  return pages;
}

/** Gives some order, which is the same for the same choice. */
export function shuffled<Item>(items: readonly Item[], choice: number): Item[] {
  const weight = (index: number): number => Math.imul(index + 1, 2654435761 ^ (choice * 40503)) >>> 0;
  return items
    .map((item, index) => ({ item, weight: weight(index) }))
    .sort((one, other) => one.weight - other.weight)
    .map(({ item }) => item);
}
