import { countOf, forHow } from '../words.ts';
import type { DecisionRecord } from '../../model/progress.ts';
import type { CollectionStatus } from './collection-status.ts';
import { named, rowsOnHold } from './decisions.ts';
import type { HealthPart, NotReady } from './tenant-facts.ts';
import type { TenantStatus } from './tenant-status.ts';

/** Something that needs a person, as the receiver of `notify.url` gets it: no row content, no person, no secret. */
export interface Notice {
  /** The same in every process for as long as it lasts, so that a receiver can tell what it knows already. */
  readonly id: string;
  /** `grown`: it concerns another collection, or at least twice as many rows as the receiver knows of. */
  readonly status: 'begun' | 'grown' | 'over' | 'test';
  /** The tenant in question; null: the process itself. */
  readonly tenant: string | null;
  /** The collections in question; empty: all of them. */
  readonly collections: readonly string[];
  /** The part that is not well, or the kind of the decision. */
  readonly code: string;
  readonly what: string;
  /** How many rows are on hold, are missing from the hub's list, or cannot be read; null: the state is not about rows. */
  readonly rows: number | null;
  /** ISO 8601; null: not known. */
  readonly since: string | null;
  /** How the state ended, as a sentence; null: it lasts, or nobody knows how it ended. */
  readonly how: string | null;
  readonly remedy: string;
  readonly commands: readonly string[];
}

/** A state that the board shows now, as a notice. */
export interface Shown {
  readonly notice: Notice;
  /** How long the state must last before its notice is sent. Infinity: it has no notice, because it follows from another state that has one. */
  readonly patienceMs: number;
}

const MINUTE_MS = 60_000;
/** A state that often passes by itself has a notice only after the time after which its alert fires. */
const PATIENCE_MS: Partial<Record<HealthPart, number>> = {
  start: 15 * MINUTE_MS,
  quota: 60 * MINUTE_MS,
  short: 30 * MINUTE_MS,
  removals: 30 * MINUTE_MS,
  load: 6 * 60 * MINUTE_MS,
};
/** If a part that comes before these is not well, these follow from it. */
const CONSEQUENCES: ReadonlySet<string> = new Set('pipeline owner start full watermark load'.split(' '));

/** The rows of a collection that a state is about, by its code. */
const ROWS_OF: Partial<Record<string, (status: CollectionStatus) => number>> = {
  ROWS_ON_HOLD: ({ rowsOnHold }) => rowsOnHold,
  short: ({ rowsShort }) => rowsShort,
  rejects: ({ rejected }) => rejected,
};

function rowsOf(code: string, collections: readonly CollectionStatus[]): number | null {
  const count = ROWS_OF[code];
  return count === undefined ? null : collections.reduce((sum, each) => sum + count(each), 0);
}

/** Each cause once: the decisions and the reasons of a tenant. */
export function noticesOf(
  { tenant, decisions, reasons, collections }: TenantStatus,
  prefix: string,
): Shown[] {
  const scope = `${prefix}/${tenant}`;
  const decided = decisions.map(({ what: why, since, question: remedy, ...decision }) => {
    const rows = rowsOf(decision.code, collections);
    return shownAs({ part: 'decision', why, remedy, since }, scope, { tenant, rows, ...decision });
  });
  const others = reasons.map((reason, at) => {
    const { part } = reason;
    const concerned = collections.filter(({ trouble, late }) => [trouble?.part, late?.part].includes(part));
    const { notice, patienceMs } = shownAs(reason, scope, {
      tenant,
      code: part,
      rows: rowsOf(part, concerned),
      collections: concerned.map(({ collection }) => collection),
      commands: [`rollcall status --tenant ${tenant}`],
    });
    return { notice, patienceMs: at > 0 && CONSEQUENCES.has(part) ? Infinity : patienceMs };
  });
  return [...decided, ...others];
}

/** What is wrong with the process itself. */
export function processNotice(reason: NotReady, prefix: string): Shown {
  const about = { tenant: null, code: reason.part, rows: null, collections: [] };
  return shownAs(reason, prefix, { ...about, commands: ['rollcall status'] });
}

/** What `rollcall check --notify` sends. */
export function testNotice(prefix: string): Notice {
  const what = 'this is a test of notify.url, sent by "rollcall check --notify"';
  const remedy = 'Nothing is wrong, and nobody needs to do anything.';
  const nothing = { tenant: null, collections: [], rows: null, since: null, how: null, commands: [] };
  return { id: `${prefix}/test`, status: 'test', code: 'test', what, remedy, ...nothing };
}

function shownAs(
  { part, why: what, remedy, since = null }: NotReady,
  scope: string,
  about: Pick<Notice, 'tenant' | 'code' | 'rows' | 'collections' | 'commands'>,
): Shown {
  const { tenant, code, rows, collections, commands } = about;
  const said = { tenant, collections, code, what, rows, since, how: null, remedy, commands };
  return {
    notice: { id: `${scope}/${code}`, status: 'begun', ...said },
    patienceMs: PATIENCE_MS[part] ?? 0,
  };
}

/**
 * What a notice adds about how a state ended: by the code of the state, or by code and decision if a person decided
 * meanwhile. The notice about any other state adds nothing.
 */
const ENDINGS: Readonly<Partial<Record<string, string>>> = {
  HUB_FOREIGN_DATA: 'the hub returns the rows of this tenant again',
  'HUB_FOREIGN_DATA accepted': 'a person has accepted the rows',
  ABSENCES_LOST: 'the absences are back',
  'ABSENCES_LOST reset': 'a person has reset the absences',
};

/** How many rows that were on hold were removed, because a person approved that, or are back at the hub. */
export type EndOfHolds = Readonly<Record<'removed' | 'back', number>>;

/** A tenant of this process, for the end of a notice. */
export interface TenantNow {
  /** Whether the tenant is starting, so that it is not known yet what needs a person. */
  readonly isStarting: boolean;
  /** The last decision about it; null: none since this process took the tenant over. */
  readonly decision: Pick<DecisionRecord, 'kind' | 'atMs'> | null;
  /** Since this process took the tenant over. */
  readonly ended: EndOfHolds;
}

const PROCESS: TenantNow = { isStarting: false, decision: null, ended: { removed: 0, back: 0 } };

interface Known {
  /** When the state began to be shown, and what had become of rows on hold by then. */
  firstMs: number;
  readonly endedBefore: EndOfHolds;
  lastMs: number;
  /** What the receiver was told last, and when; null: nothing yet. */
  told: Notice | null;
  toldMs: number;
}

/** Remembers which notices a receiver has, and says which it gets next. Pure; it holds what the board shows, and no queue. */
export class NoticeBook {
  readonly #known = new Map<string, Known>();
  readonly #afterMs: number;

  /** `afterMs`: what lasts, or has ended, for a shorter time has no notice. */
  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /**
   * `here`: the tenants of this process. If another process mirrors a tenant by now, that process sends the message that the notice has ended.
   */
  due(shown: readonly Shown[], nowMs: number, here: ReadonlyMap<string, TenantNow>): Notice[] {
    const nowOf = ({ tenant }: Notice) => (tenant === null ? PROCESS : here.get(tenant));
    const begun = shown.flatMap(({ notice, patienceMs }): Notice[] => {
      const { ended: endedBefore } = nowOf(notice) ?? PROCESS;
      const begins = { firstMs: nowMs, endedBefore, lastMs: nowMs, told: null, toldMs: nowMs };
      const known: Known = this.#known.get(notice.id) ?? begins;
      this.#known.set(notice.id, known);
      known.lastMs = nowMs;
      if (patienceMs === Infinity) known.firstMs = nowMs;
      if (known.told === null)
        return nowMs - known.firstMs >= Math.max(this.#afterMs, patienceMs) ? [notice] : [];
      const isDue = nowMs - Math.max(known.firstMs, known.toldMs) >= this.#afterMs;
      return isDue && isLarger(notice, known.told) ? [{ ...notice, status: 'grown' }] : [];
    });
    const over = [...this.#known].flatMap(([id, known]): Notice[] => {
      const { told, lastMs } = known;
      if (lastMs === nowMs) return [];
      const of = told === null ? undefined : nowOf(told);
      if (told === null || of === undefined) this.#known.delete(id);
      else if (of.isStarting) known.lastMs = nowMs;
      else if (nowMs - lastMs >= this.#afterMs) return [{ ...overOf(told, of, known), status: 'over' }];
      return [];
    });
    return [...begun, ...over];
  }

  /** The receiver has taken these notices. */
  told(notices: readonly Notice[]): void {
    for (const notice of notices) {
      const known = this.#known.get(notice.id);
      if (notice.status === 'over') this.#known.delete(notice.id);
      else if (known !== undefined) {
        const collections = new Set([...(known.told?.collections ?? []), ...notice.collections]);
        known.told = { ...notice, collections: [...collections] };
        known.toldMs = known.lastMs;
      }
    }
  }
}

function isLarger(now: Notice, told: Notice): boolean {
  const hasMoreRows = now.rows !== null && told.rows !== null && now.rows >= 2 * told.rows;
  return hasMoreRows || now.collections.some((each) => !told.collections.includes(each));
}

/** The notice that the receiver got last, with how what it reports has ended. */
function overOf(told: Notice, { decision, ended }: TenantNow, known: Known): Notice {
  const { code } = told;
  if (code === 'ROWS_ON_HOLD') return holdsOver(told, ended, known.endedBefore);
  const { kind = '', atMs = 0 } = decision ?? {};
  const decided = atMs >= known.firstMs ? ENDINGS[`${code} ${kind}`] : undefined;
  return { ...told, how: decided ?? ENDINGS[code] ?? null };
}

/**
 * How the holds ended: `136 rows removed, as a person approved, and 4,212 rows back`. The notice names the sum of both numbers,
 * and not the number that the receiver was told last, because holds may have grown or ended since then.
 */
function holdsOver(told: Notice, now: EndOfHolds, before: EndOfHolds): Notice {
  const [removed, back] = [now.removed - before.removed, now.back - before.back];
  const rows = removed + back;
  // Nothing is known of how it ended.
  if (rows === 0) return told;
  const said = [
    ...(removed > 0 ? [`${countOf(removed, 'row')} removed, as a person approved`] : []),
    ...(back > 0 ? [`${countOf(back, 'row')} back`] : []),
  ];
  const what = rowsOnHold(rows, told.collections);
  return { ...told, what, rows, how: said.join(', and ') };
}

const MOST_LINES = 10;

/** The notices as a message for a chat: a line for each cause, however many tenants it has. */
export function textOf(notices: readonly Notice[], nowMs: number): string {
  const lines = [...Map.groupBy(notices, ({ status, what, how }) => `${status} ${how} ${what}`).values()].map(
    ([first, ...others]) => {
      if (first === undefined) return '';
      const { status, what, since, how, remedy, commands } = first;
      const tenants = [first, ...others].map(({ tenant }) => tenant ?? 'the process');
      const who =
        others.length === 0 ? named(tenants) : `${countOf(tenants.length, 'tenant')} (${named(tenants)})`;
      const ending = how === null ? '' : ` (${how})`;
      if (status === 'over') return `Rollcall, ${who}: this is over: ${what}${ending}`;
      const todo = [`→ ${remedy}`, ...commands].join('\n    ');
      const grown = status === 'grown' ? 'more than before: ' : '';
      return `Rollcall, ${who}: ${grown}${what}${forHow(since, nowMs)}\n${todo}`;
    },
  );
  const more = lines.length - MOST_LINES;
  const rest = more > 0 ? [`and ${more} more: rollcall status --wrong`] : [];
  return [...lines.slice(0, MOST_LINES), ...rest].join('\n');
}
