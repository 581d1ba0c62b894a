import { createRandom, type Random } from '../../../reference-hub/random.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { textIn } from '../../integration/support/rows.ts';
import { recordHistory, type HubHistory, type Row } from './hub-history.ts';

export type ChurnKind =
  | 'changed'
  | 'changed back'
  | 'changed unstamped'
  | 'left'
  | 'returned'
  | 'restamped'
  | 'absence registered'
  | 'absence replaced'
  | 'absence deleted'
  | 'absence purged';

/** A hub that changes by a seed, with the history of all its states. */
export interface Churn {
  readonly history: HubHistory;
  /** Makes that many changes at once, each recorded before the next. */
  step(changes?: number): void;
  /** Makes a change now and then, until it is disposed of. */
  live(everyMs: number): Disposable;
  /** How often each kind of change has happened: a fault without any change proves nothing. */
  happened(): Readonly<Record<string, number>>;
}

export interface ChurnOptions {
  readonly hub: ReferenceHub;
  readonly seed: number;
  /** Collections of rows; `absence-versions` among them includes absences. Default: {@link CHURNED}. */
  readonly collections?: readonly string[] | undefined;
}

export const CHURNED = ['users', 'enrollments', 'results', 'absence-versions'] as const;

/** Removals here are intended: the guard has tests of its own. For `configTextOf` as `settings`. */
export const CHURN_SETTINGS = {
  deletions: { withholdAbove: { rows: 1_000_000, ratio: 1 }, confirmAfter: '1s' },
  // A process that follows a killed one waits so long for it.
  kafka: { session: '6s' },
} as const;

/** Share of a collection that may be away at a time; at a half the guard would withhold the removals. */
const MOST_AWAY = 0.1;
const WEIGHTS: Readonly<Record<ChurnKind, number>> = {
  changed: 20,
  'changed back': 10,
  'changed unstamped': 2,
  left: 8,
  returned: 8,
  restamped: 1,
  'absence registered': 10,
  'absence replaced': 10,
  'absence deleted': 4,
  'absence purged': 1,
};
const DAY_MS = 86_400_000;

/** Fields that are typed as text or as date, or not typed. */
const FIELDS: Readonly<Record<string, (below: (n: number) => number) => Row>> = {
  users: (below) => ({ middleName: `M${below(1_000)}` }),
  enrollments: (below) => ({ beginDate: `2026-0${1 + below(9)}-1${below(10)}` }),
  results: (below) => ({ comment: `c${below(1_000)}`, score: below(6) + 1 }),
};

export function startChurn(options: ChurnOptions): Churn {
  const collections = options.collections ?? CHURNED;
  const history = recordHistory(options.hub, collections);
  const maker = new ChangeMaker(options.hub, { collections, seed: options.seed });
  const step = (changes = 1): void => {
    for (let made = 0; made < changes; made += 1) history.note(...maker.change());
  };
  return {
    history,
    step,
    live(everyMs) {
      const timer = setInterval(step, everyMs);
      return { [Symbol.dispose]: () => clearInterval(timer) };
    },
    happened: () => ({ ...maker.happened }),
  };
}

class ChangeMaker {
  readonly happened: Record<string, number> = {};
  readonly #hub: ReferenceHub;
  readonly #rows: readonly string[];
  readonly #all: readonly string[];
  readonly #hasAbsences: boolean;
  readonly #random: Random;
  /** The row before a change, to be put back. */
  readonly #before: { collection: string; id: string; row: Row }[] = [];
  readonly #away: { collection: string; row: Row }[] = [];

  constructor(hub: ReferenceHub, options: { collections: readonly string[]; seed: number }) {
    this.#hub = hub;
    this.#all = options.collections;
    this.#rows = options.collections.filter((name) => name !== 'absence-versions');
    this.#hasAbsences = options.collections.includes('absence-versions');
    this.#random = createRandom(options.seed);
  }

  /** Makes one change; returns the changed collections. A kind that finds nothing to change is replaced by another. */
  change(): readonly string[] {
    for (;;) {
      const kind = this.#pickKind();
      const touched = this.#make(kind);
      if (touched === null) continue;
      this.happened[kind] = (this.happened[kind] ?? 0) + 1;
      return touched;
    }
  }

  #pickKind(): ChurnKind {
    const kinds = (Object.keys(WEIGHTS) as ChurnKind[]).filter((kind) =>
      kind.startsWith('absence') ? this.#hasAbsences : kind === 'restamped' || this.#rows.length > 0,
    );
    let place = this.#random.fraction() * kinds.reduce((sum, kind) => sum + WEIGHTS[kind], 0);
    return kinds.find((kind) => (place -= WEIGHTS[kind]) < 0) ?? 'restamped';
  }

  #make(kind: ChurnKind): readonly string[] | null {
    switch (kind) {
      case 'changed':
        return this.#alter({ stamp: true });
      case 'changed unstamped':
        return this.#alter({ stamp: false });
      case 'changed back':
        return this.#putBack(this.#before);
      case 'left':
        return this.#leave();
      case 'returned':
        return this.#putBack(this.#away);
      case 'restamped':
        this.#hub.district.restamp();
        return this.#all;
      default:
        return this.#changeAbsence(kind) ? ['absence-versions', 'absence-summaries'] : null;
    }
  }

  #alter({ stamp }: { stamp: boolean }): readonly string[] | null {
    const found = this.#anyRow();
    if (found === null) return null;
    const { collection, id, row } = found;
    const fields = FIELDS[collection] ?? ((below: (n: number) => number) => ({ note: `n${below(1_000)}` }));
    this.#before.push({ collection, id, row });
    this.#hub.district.patch(collection, id, fields((n) => this.#below(n)) as never, { stamp });
    return touchedBy(collection);
  }

  #leave(): readonly string[] | null {
    const found = this.#anyRow();
    if (found === null) return null;
    const { collection, id, row } = found;
    const away = this.#away.filter((each) => each.collection === collection).length;
    if (away + 1 > this.#hub.district.ids(collection).length * MOST_AWAY) return null;
    this.#hub.district.remove(collection, id);
    this.#away.push({ collection, row });
    return touchedBy(collection);
  }

  /** The hub stamps a row that returns, and a change does not bring back a row that has left since. */
  #putBack(from: { collection: string; row: Row }[]): readonly string[] | null {
    const [taken] = from.splice(this.#below(from.length), 1);
    if (taken === undefined) return null;
    const { collection, row } = taken;
    const { dateLastModified: _, ...content } = row;
    if (from === this.#before && !this.#has(collection, String(row['sourcedId']))) return null;
    this.#hub.district.put(collection, content as never);
    return touchedBy(collection);
  }

  #changeAbsence(kind: ChurnKind): boolean {
    const { district, clock } = this.#hub;
    if (kind === 'absence registered') {
      const students = district.ids('students');
      const fromMs = clock.now() - this.#below(20) * DAY_MS;
      district.registerAbsence({
        student: students[this.#below(students.length)] ?? '',
        fromTime: new Date(fromMs).toISOString(),
        toTime: new Date(fromMs + 45 * 60_000).toISOString(),
      });
      return true;
    }
    const id = this.#currentAbsence();
    if (id === null) return false;
    if (kind === 'absence deleted') district.deleteAbsence(id);
    else if (kind === 'absence purged') district.purgeAbsence(id);
    else {
      const fromMs = Date.parse(textIn(district.get('absences', id), 'fromTime'));
      const toMs = fromMs + (1 + this.#below(300)) * 60_000;
      district.replaceAbsence(id, { changes: { toTime: new Date(toMs).toISOString() } });
    }
    return true;
  }

  #currentAbsence(): string | null {
    const ids = this.#hub.district.ids('absences');
    for (let attempt = 0; attempt < 30; attempt += 1) {
      const id = ids[this.#below(ids.length)] ?? '';
      const row = this.#hub.district.get('absences', id);
      if (row !== undefined && !row['replacedBy'] && !row['deletedTime']) return id;
    }
    return null;
  }

  #anyRow(): { collection: string; id: string; row: Row } | null {
    const collection = this.#rows[this.#below(this.#rows.length)] ?? '';
    const ids = this.#hub.district.ids(collection);
    const id = ids[this.#below(ids.length)] ?? '';
    const row = this.#hub.district.get(collection, id);
    return row === undefined ? null : { collection, id, row };
  }

  #has(collection: string, id: string): boolean {
    return this.#hub.district.get(collection, id) !== undefined;
  }

  #below(n: number): number {
    return n === 0 ? 0 : this.#random.below(n);
  }
}

function touchedBy(collection: string): readonly string[] {
  return collection === 'users' ? ['users', 'students', 'teachers'] : [collection];
}
