import { countOf, forHow } from '../words.ts';
import type { CollectionStatus } from './collection-status.ts';
import { named } from './decisions.ts';
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
/** For states that often pass by themselves: how long they must last, which is also how long it takes until the alert fires. */
const PATIENCE_MS: Partial<Record<HealthPart, number>> = {
  start: 15 * MINUTE_MS,
  quota: 60 * MINUTE_MS,
  short: 30 * MINUTE_MS,
  removals: 30 * MINUTE_MS,
  load: 6 * 60 * MINUTE_MS,
};
/**
 * These parts get no notice of their own if another reason of the tenant comes before them: they follow from that
 * reason.
 */
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

/** The notice about a trouble of the process itself. */
export function processNotice(reason: NotReady, prefix: string): Shown {
  const about = { tenant: null, code: reason.part, rows: null, collections: [] };
  return shownAs(reason, prefix, { ...about, commands: ['rollcall status'] });
}

/** What `rollcall check --notify` sends. */
export function testNotice(prefix: string): Notice {
  const what = 'this is a test of notify.url, sent by "rollcall check --notify"';
  const remedy = 'Nothing is wrong, and nobody needs to do anything.';
  const nothing = { tenant: null, collections: [], rows: null, since: null, commands: [] };
  return { id: `${prefix}/test`, status: 'test', code: 'test', what, remedy, ...nothing };
}

function shownAs(
  { part, why: what, remedy, since = null }: NotReady,
  scope: string,
  about: Pick<Notice, 'tenant' | 'code' | 'rows' | 'collections' | 'commands'>,
): Shown {
  const id = `${scope}/${about.code}`;
  const notice: Notice = { id, status: 'begun', what, since, remedy, ...about };
  return { notice, patienceMs: PATIENCE_MS[part] ?? 0 };
}

interface Known {
  /** When the state began to be shown. */
  firstMs: number;
  lastMs: number;
  /** What was sent to the receiver last, and when; null: nothing yet. */
  sent: Notice | null;
  sentMs: number;
}

/** Remembers which notices a receiver has, and says which it gets next. It does no I/O. It holds what the board shows, and no queue. */
export class NoticeBook {
  readonly #known = new Map<string, Known>();
  readonly #afterMs: number;

  /** `afterMs`: how long a state must have lasted, or must have been over, before a notice says so. */
  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /**
   * `here`: the tenants of this process. If another process mirrors a tenant by now, that process says that the state has ended.
   */
  due(
    shown: readonly Shown[],
    nowMs: number,
    here: readonly Pick<TenantStatus, 'tenant' | 'reasons'>[],
  ): Notice[] {
    const begun = shown.flatMap(({ notice, patienceMs }): Notice[] => {
      const begins = { firstMs: nowMs, lastMs: nowMs, sent: null, sentMs: nowMs };
      const known: Known = this.#known.get(notice.id) ?? begins;
      this.#known.set(notice.id, known);
      known.lastMs = nowMs;
      if (patienceMs === Infinity) known.firstMs = nowMs;
      if (known.sent === null)
        return nowMs - known.firstMs >= Math.max(this.#afterMs, patienceMs) ? [notice] : [];
      const isDue = nowMs - Math.max(known.firstMs, known.sentMs) >= this.#afterMs;
      return isDue && isLarger(notice, known.sent) ? [{ ...notice, status: 'grown' }] : [];
    });
    const over = [...this.#known].flatMap(([id, known]): Notice[] => {
      const { sent, lastMs } = known;
      if (lastMs === nowMs) return [];
      const own = here.find(({ tenant }) => tenant === sent?.tenant);
      const isElsewhere = sent !== null && sent.tenant !== null && own === undefined;
      if (sent === null || isElsewhere) this.#known.delete(id);
      // While a tenant starts, it is not known yet what needs a person.
      else if (own?.reasons.some(({ part }) => part === 'start') === true) known.lastMs = nowMs;
      else if (nowMs - lastMs >= this.#afterMs) return [{ ...sent, status: 'over' }];
      return [];
    });
    return [...begun, ...over];
  }

  /** Notes that the receiver has taken these notices. */
  sent(notices: readonly Notice[]): void {
    for (const notice of notices) {
      const known = this.#known.get(notice.id);
      if (notice.status === 'over') this.#known.delete(notice.id);
      else if (known !== undefined) {
        const collections = new Set([...(known.sent?.collections ?? []), ...notice.collections]);
        known.sent = { ...notice, collections: [...collections] };
        known.sentMs = known.lastMs;
      }
    }
  }
}

function isLarger(now: Notice, sent: Notice): boolean {
  const hasMoreRows = now.rows !== null && sent.rows !== null && now.rows >= 2 * sent.rows;
  return hasMoreRows || now.collections.some((each) => !sent.collections.includes(each));
}

const MOST_LINES = 10;

/** The notices as a message for a chat: a line for each cause, however many tenants it has. */
export function textOf(notices: readonly Notice[], nowMs: number): string {
  const lines = [...Map.groupBy(notices, ({ status, what }) => `${status} ${what}`).values()].map(
    ([first, ...others]) => {
      if (first === undefined) return '';
      const { status, what, since, remedy, commands } = first;
      const tenants = [first, ...others].map(({ tenant }) => tenant ?? 'the process');
      const who =
        others.length === 0 ? named(tenants) : `${countOf(tenants.length, 'tenant')} (${named(tenants)})`;
      if (status === 'over') return `Rollcall, ${who}: resolved: ${what}`;
      const todo = [`→ ${remedy}`, ...commands].join('\n    ');
      const grown = status === 'grown' ? 'more than before: ' : '';
      return `Rollcall, ${who}: ${grown}${what}${forHow(since, nowMs)}\n${todo}`;
    },
  );
  const more = lines.length - MOST_LINES;
  const rest = more > 0 ? [`and ${more} more: rollcall status --wrong`] : [];
  return [...lines.slice(0, MOST_LINES), ...rest].join('\n');
}
