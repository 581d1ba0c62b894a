import { countOf, forHow } from '../words.ts';
import type { DecisionRecord } from '../../model/progress.ts';
import { named } from './decisions.ts';
import type { HealthPart, NotReady } from './tenant-facts.ts';
import type { TenantStatus } from './tenant-status.ts';

/** Something that needs a person, as the receiver of `notify.url` gets it: no row content, no person, no secret. */
export interface Notice {
  /** The same in every process for as long as it lasts, so that a receiver can tell what it knows already. */
  readonly id: string;
  readonly status: 'begun' | 'over';
  /** Null: the process itself. */
  readonly tenant: string | null;
  /** Empty: all of them. */
  readonly collections: readonly string[];
  /** The part that is not well, or the kind of the decision. */
  readonly code: string;
  readonly what: string;
  /** ISO 8601; null: not known. */
  readonly since: string | null;
  /** How it ended, as a sentence; null: it lasts, or nobody knows. */
  readonly how: string | null;
  readonly remedy: string;
  readonly commands: readonly string[];
}

/** What the board shows now. */
export interface Shown {
  readonly notice: Notice;
  /** Shortest time that it lasts before a notice is sent. Infinity: never, since it follows from something that has a notice. */
  readonly patienceMs: number;
}

const MINUTE_MS = 60_000;
/** What often passes by itself has a notice only when the alert on it would fire. */
const PATIENCE_MS: Partial<Record<HealthPart, number>> = {
  start: 15 * MINUTE_MS,
  quota: 60 * MINUTE_MS,
  short: 30 * MINUTE_MS,
  removals: 30 * MINUTE_MS,
  load: 6 * 60 * MINUTE_MS,
};
/** If a part that comes before these is not well, these follow from it. */
const CONSEQUENCES: ReadonlySet<string> = new Set('pipeline owner start full watermark load'.split(' '));

/** Each cause once: the decisions and the reasons of a tenant. */
export function noticesOf(
  { tenant, decisions, reasons, collections }: TenantStatus,
  prefix: string,
): Shown[] {
  const scope = `${prefix}/${tenant}`;
  const decided = decisions.map(({ what: why, since, question: remedy, ...decision }) =>
    shownAs({ part: 'decision', why, remedy, since }, scope, { tenant, ...decision }),
  );
  const others = reasons.map((reason, at) => {
    const { part } = reason;
    const concerned = collections.filter(({ trouble, late }) => [trouble?.part, late?.part].includes(part));
    const { notice, patienceMs } = shownAs(reason, scope, {
      tenant,
      code: part,
      collections: concerned.map(({ collection }) => collection),
      commands: [`rollcall status --tenant ${tenant}`],
    });
    return { notice, patienceMs: at > 0 && CONSEQUENCES.has(part) ? Infinity : patienceMs };
  });
  return [...decided, ...others];
}

/** What is wrong with the process itself. */
export function processNotice(reason: NotReady, prefix: string): Shown {
  const about = { tenant: null, code: reason.part, collections: [], commands: ['rollcall status'] };
  return shownAs(reason, prefix, about);
}

function shownAs(
  { part, why: what, remedy, since = null }: NotReady,
  scope: string,
  { tenant, code, collections, commands }: Pick<Notice, 'tenant' | 'code' | 'collections' | 'commands'>,
): Shown {
  const about = { tenant, collections, code, what, since, how: null, remedy, commands };
  return {
    notice: { id: `${scope}/${code}`, status: 'begun', ...about },
    patienceMs: PATIENCE_MS[part] ?? 0,
  };
}

/** How a state ends, by its code, and by the last decision if it was taken meanwhile. The end of any other state says enough. */
const ENDINGS: Readonly<Partial<Record<string, string>>> = {
  failed: 'the tenant is mirrored again',
  kafka: 'Kafka can be used again',
  redis: 'Redis can be used again',
  registry: 'the schema registry can be used again',
  pipeline: 'the tenant is mirrored again',
  hub: 'the hub answers again',
  collection: 'its syncs succeed again',
  load: 'every collection is loaded',
  'ROWS_ON_HOLD approved': 'a person has approved the removals',
  'ROWS_ON_HOLD healed': 'the missing rows are back',
  HUB_FOREIGN_DATA: 'the hub returns the rows of this tenant again',
  'HUB_FOREIGN_DATA accepted': 'a person has accepted the rows',
  ABSENCES_LOST: 'the absences are back',
  'ABSENCES_LOST reset': 'a person has reset the absences',
};

/** A tenant of this process, for the end of a notice. */
export interface TenantNow {
  /** It is not known yet what needs a person. */
  readonly isStarting: boolean;
  /** The last decision about it; null: none since this process took the tenant over. */
  readonly decision: Pick<DecisionRecord, 'kind' | 'atMs'> | null;
}

const PROCESS: TenantNow = { isStarting: false, decision: null };

interface Known {
  notice: Notice;
  /** Since when a notice of it could be sent. */
  firstMs: number;
  lastMs: number;
  isTold: boolean;
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
    const begun = shown.flatMap(({ notice, patienceMs }): Notice[] => {
      const known = this.#known.get(notice.id) ?? { notice, firstMs: nowMs, lastMs: nowMs, isTold: false };
      this.#known.set(notice.id, Object.assign(known, { notice, lastMs: nowMs }));
      if (patienceMs === Infinity) known.firstMs = nowMs;
      const isDue = !known.isTold && nowMs - known.firstMs >= Math.max(this.#afterMs, patienceMs);
      return isDue ? [notice] : [];
    });
    const over = [...this.#known.values()].flatMap((known): Notice[] => {
      const { notice, firstMs, lastMs, isTold } = known;
      const { id, tenant } = notice;
      const of = tenant === null ? PROCESS : here.get(tenant);
      if (lastMs === nowMs) return [];
      if (!isTold || of === undefined) this.#known.delete(id);
      else if (of.isStarting) known.lastMs = nowMs;
      else if (nowMs - lastMs >= this.#afterMs) {
        const { kind = '', atMs = 0 } = of.decision ?? {};
        const decided = atMs >= firstMs ? ENDINGS[`${notice.code} ${kind}`] : undefined;
        return [{ ...notice, status: 'over', how: decided ?? ENDINGS[notice.code] ?? null }];
      }
      return [];
    });
    return [...begun, ...over];
  }

  /** The receiver has got them. */
  told(notices: readonly Notice[]): void {
    for (const { id, status } of notices) {
      const known = this.#known.get(id);
      if (status === 'over') this.#known.delete(id);
      else if (known !== undefined) known.isTold = true;
    }
  }
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
      if (status === 'over') return `Rollcall, ${who}: over${ending}: ${what}`;
      const todo = [`→ ${remedy}`, ...commands].join('\n    ');
      return `Rollcall, ${who}: ${what}${forHow(since, nowMs)}\n${todo}`;
    },
  );
  const more = lines.length - MOST_LINES;
  const rest = more > 0 ? [`and ${more} more: rollcall status --wrong`] : [];
  return [...lines.slice(0, MOST_LINES), ...rest].join('\n');
}
