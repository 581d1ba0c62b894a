import { seededRandom } from '../parts/seeded-random.ts';
import { VirtualTime } from '../parts/virtual-time.ts';
import { resultOf, type Played } from '../run/played.ts';
import { GroupCoordinator, type SyncRequest } from './group-coordinator.ts';
import {
  count,
  GroupWorker,
  HEARTBEAT_MS,
  SESSION_MS,
  type GroupMistake,
  type GroupWorld,
} from './group-worker.ts';
import { TenantWriters } from './tenant-writers.ts';

const MOST_WORKERS = 4;
const LOOKS_EVERY_MS = 50;
const TROUBLE_MS = 60_000;
/** Answers that are on their way, and the interval of the looks. */
const ON_THE_WAY_MS = 500;
/** As long as a worker waits at most before it looks for the coordinator again. */
const LONGEST_RETRY_MS = 2_000;
/** A worker that was superseded more than once waits before it takes a tenant over again. */
const WRITES_WITHIN_MS = 120_000;
const INITIAL_DELAYS_MS = [0, 3_000];

/**
 * Two to four processes that share tenants by the real {@link WorkerGroup}: first changes of the group without trouble, each
 * measured; then a minute in which processes die, freeze, leave and join in storms, lose the network, and the coordinator moves;
 * then the trouble ends, and the changes come again.
 */
export function playGroup(seed: number, mistake: GroupMistake = {}): Promise<Played> {
  const history = new GroupHistory(seed, mistake);
  return resultOf(history.world, () => history.world.time.run(() => history.play()));
}

class GroupHistory {
  readonly world: GroupWorld;
  readonly #workers: GroupWorker[] = [];
  /** Since when each tenant is mirrored by nobody, and the longest of such times since the last reset. */
  readonly #unownedSince = new Map<string, number>();
  #longestUnownedMs = 0;
  #isPlaying = true;

  constructor(seed: number, mistake: GroupMistake) {
    const random = seededRandom(seed);
    const time = new VirtualTime(1_000_000);
    const problems = new Set<string>();
    const coordinator = new GroupCoordinator(time, random.pick(INITIAL_DELAYS_MS));
    const tenants = Array.from({ length: 4 + random.below(9) }, (_, at) => `t${at}`);
    const isUnfenced = mistake.isUnfenced === true;
    const writers = new TenantWriters(time, random, problems, isUnfenced);
    const mended = Promise.withResolvers<void>();
    const happened = new Map<string, number>();
    this.world = { time, random, coordinator, writers, tenants, mistake, mended, problems, happened };
    coordinator.onShared = (metadata, shares) => noteUnfairShares(problems, tenants, metadata, shares);
  }

  get #staying(): GroupWorker[] {
    return this.#workers.filter(({ isStaying }) => isStaying);
  }

  async play(): Promise<void> {
    const { time, random, coordinator, mended, problems } = this.world;
    void this.#look();
    for (let more = 1 + random.below(3); more > 0; more -= 1) this.#start();
    await this.#settles('the start', 3_000 + SESSION_MS);
    for (let changes = 0; changes < 3; changes += 1) await this.#change();
    const endsAtMs = time.now() + TROUBLE_MS;
    while (time.now() < endsAtMs) {
      this.#trouble();
      await time.sleep(random.chance(0.3) ? random.below(300) : random.below(5_000));
    }
    for (const worker of this.#workers) this.#mend(worker);
    mended.resolve();
    while (this.#staying.length < 2) this.#start();
    await time.sleep(Math.max(0, coordinator.answersInMs));
    await time.until(2 * SESSION_MS + HEARTBEAT_MS + LONGEST_RETRY_MS + ON_THE_WAY_MS, () => this.#isOwned());
    if (!this.#isOwned()) problems.add('a tenant has no owner after the trouble');
    await this.#settles('the trouble', 3 * SESSION_MS);
    for (let changes = 0; changes < 3; changes += 1) await this.#change();
    await this.#writes();
    count(
      this.world.happened,
      this.world.writers.fenced > 0 ? 'with a fenced writer' : 'without a fenced one',
    );
    this.#isPlaying = false;
  }

  #start(): void {
    this.#workers.push(new GroupWorker(`w${this.#workers.length}`, this.world));
  }

  async #look(): Promise<void> {
    const { time, tenants, happened } = this.world;
    while (this.#isPlaying) {
      for (const worker of this.#workers) worker.check();
      for (const tenant of tenants) {
        const owners = this.#workers.filter((each) => each.isAwake && each.holds.includes(tenant)).length;
        if (owners > 1) count(happened, 'looks at two that believe they own a tenant');
        if (owners > 0) this.#unownedSince.delete(tenant);
        else {
          const sinceMs = this.#unownedSince.get(tenant) ?? time.now();
          this.#unownedSince.set(tenant, sinceMs);
          this.#longestUnownedMs = Math.max(this.#longestUnownedMs, time.now() - sinceMs);
        }
      }
      await time.sleep(LOOKS_EVERY_MS);
    }
  }

  /** Every tenant is mirrored by a process that stays. */
  #isOwned(): boolean {
    const held = new Set(this.#staying.flatMap(({ isAwake, holds }) => (isAwake ? holds : [])));
    return this.world.tenants.every((tenant) => held.has(tenant));
  }

  #isShared(): boolean {
    const { tenants } = this.world;
    const each = Math.floor(tenants.length / this.#staying.length);
    const held = this.#staying.map(({ holds }) => holds);
    const isEven = held.every(({ length }) => length === each || length === each + 1);
    return isEven && held.flat().length === tenants.length && this.#isOwned();
  }

  async #settles(after: string, withinMs: number): Promise<void> {
    const { time, problems } = this.world;
    await time.until(withinMs, () => this.#isShared());
    if (!this.#isShared()) problems.add(`the tenants are not shared in time after ${after}`);
    // The coordinator may still wait for a dead member, or find one dead that none of the living misses.
    for (let quietMs = 0, { generation } = this.world.coordinator; quietMs < 2 * SESSION_MS; quietMs += 100) {
      await time.sleep(100);
      if (this.world.coordinator.generation === generation) continue;
      ({ generation } = this.world.coordinator);
      quietMs = 0;
    }
    this.#longestUnownedMs = 0;
  }

  /** One change of the group without any trouble. */
  async #change(): Promise<void> {
    const { random, happened, coordinator } = this.world;
    const { generation } = coordinator;
    const staying = this.#staying;
    const kinds = ['coordinator moves'];
    if (staying.length < MOST_WORKERS) kinds.push('join');
    if (staying.length > 1) kinds.push('leave', 'crash');
    if (staying.length > 2) kinds.push('two crashes');
    const kind = random.pick(kinds);
    count(happened, kind);
    const before = new Map(staying.flatMap((worker) => worker.holds.map((tenant) => [tenant, worker])));
    const gone = random.pick(staying);
    if (kind === 'coordinator moves') coordinator.move(random.below(SESSION_MS / 4));
    else if (kind === 'join') this.#start();
    else if (kind === 'leave') void gone.leave();
    else gone.kill();
    if (kind === 'two crashes') {
      // Within the barrier that the first one holds up, or before.
      await this.world.time.sleep(random.below(SESSION_MS));
      random.pick(this.#staying).kill();
    }
    const unownedAtMostMs: Readonly<Record<string, number>> = {
      'coordinator moves': 0,
      join: 0,
      leave: HEARTBEAT_MS,
      crash: SESSION_MS + HEARTBEAT_MS,
      // The second may die when it has joined, before it has its part.
      'two crashes': 2 * (SESSION_MS + HEARTBEAT_MS),
    };
    await this.#expectChanged(kind, (unownedAtMostMs[kind] ?? 0) + ON_THE_WAY_MS, before);
    if (kind === 'coordinator moves' && coordinator.generation !== generation)
      this.world.problems.add('a move of the coordinator begins a generation');
  }

  async #expectChanged(
    kind: string,
    mostMs: number,
    before: ReadonlyMap<string, GroupWorker>,
  ): Promise<void> {
    const { problems, tenants, time } = this.world;
    this.#longestUnownedMs = 0;
    // A coordinator does not miss a dead process before its session is over.
    await time.sleep(mostMs + HEARTBEAT_MS);
    if (this.#longestUnownedMs > mostMs) problems.add(`a tenant has no owner for too long after: ${kind}`);
    await this.#settles(`the change: ${kind}`, ON_THE_WAY_MS);
    const moved = tenants.filter((tenant) => {
      const owner = before.get(tenant);
      return owner?.isStaying === true && !owner.holds.includes(tenant);
    });
    const expected = kind === 'join' ? Math.floor(tenants.length / this.#staying.length) : 0;
    if (moved.length !== expected) problems.add(`not ${expected} but ${moved.length} moves after: ${kind}`);
  }

  #trouble(): void {
    const { random, happened, coordinator, time } = this.world;
    const worker = random.pick(this.#workers);
    const other: Record<string, () => void> = {
      'a worker joins': () => (this.#staying.length < MOST_WORKERS ? this.#start() : undefined),
      'a worker leaves': () => void worker.leave(),
      'a worker dies': () => worker.kill(),
      'a worker freezes': () => worker.freeze(),
      'a worker loses the network': () => worker.disturb(random.pick(['cut', 'hangs']), 0),
      'answers come late': () => worker.disturb('well', random.below(2 * SESSION_MS)),
      'the coordinator moves': () => coordinator.move(random.below(2 * SESSION_MS)),
    };
    const what = random.pick(Object.keys(other));
    count(happened, what);
    other[what]?.();
    const lastsMs = random.below(random.pick([1_000, SESSION_MS, 4 * SESSION_MS]));
    void time.sleep(lastsMs).then(() => this.#mend(worker));
  }

  #mend(worker: GroupWorker): void {
    worker.disturb('well', 0);
    worker.thaw();
  }

  async #writes(): Promise<void> {
    const { time, tenants, writers, problems } = this.world;
    const areWritten = (): boolean =>
      tenants.every((tenant) => {
        const { owner, committedAtMs } = writers.lastOf(tenant);
        const holder = this.#staying.find(({ holds }) => holds.includes(tenant));
        return holder?.name === owner && committedAtMs > time.now() - 1_000;
      });
    await time.until(WRITES_WITHIN_MS, areWritten);
    if (!areWritten()) problems.add('the owner of a tenant writes nothing');
  }
}

/** Each tenant goes to exactly one member, and no more of them move than an even share needs. */
function noteUnfairShares(
  problems: Set<string>,
  tenants: readonly string[],
  metadata: ReadonlyMap<string, Buffer>,
  shares: SyncRequest['groupAssignment'],
): void {
  const given = new Map(
    shares.map(({ memberId, memberAssignment }) => [
      memberId,
      (JSON.parse(String(memberAssignment)) as { tenants: string[] }).tenants,
    ]),
  );
  const all = [...given.values()].flat();
  if (all.length !== tenants.length || tenants.some((tenant) => !all.includes(tenant)))
    problems.add('an assignment has not every tenant exactly once');
  if ([...given.keys()].some((id) => !metadata.has(id)) || given.size !== metadata.size)
    problems.add('an assignment is not for the members of its generation');
  const claims = [...metadata].map(
    ([id, bytes]) => [id, (JSON.parse(String(bytes)) as { holds: string[] }).holds] as const,
  );
  // Of two that claim a tenant one loses it, whoever is right.
  if (new Set(claims.flatMap(([, holds]) => holds)).size < claims.flatMap(([, holds]) => holds).length)
    return;
  const moved = claims.flatMap(([id, holds]) =>
    holds.filter((tenant) => given.get(id)?.includes(tenant) !== true),
  );
  const each = Math.floor(tenants.length / claims.length);
  const larger = tenants.length % claims.length;
  const needed = claims
    .map(([, { length }]) => length)
    .sort((one, other) => other - one)
    .reduce((sum, length, at) => sum + Math.max(0, length - each - (at < larger ? 1 : 0)), 0);
  if (moved.length > needed) problems.add('an assignment moves more tenants than needed');
}
