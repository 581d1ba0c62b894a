import { absenceStepOf } from './absence-step.ts';
import { describeAbsenceStep } from './describe-absence-step.ts';
import { describeValue, shortId } from './describe-change.ts';
import { count, type Screen } from './screen.ts';
import type { WatchedRecord } from './watch-topics.ts';

/** A person cannot read more lines per second. */
const LINES_A_SECOND = 8;
/** Collections that change with each absence; the line of that change covers them. */
const FOLLOWS_FROM_CHANGES = ['absence-versions', 'absences', 'absence-summaries'];
/** An absence publishes all days of its student at once: as lines they would hide everything else. */
const IN_NUMBERS: ReadonlySet<string> = new Set([...FOLLOWS_FROM_CHANGES, 'schedules']);
const OPERATIONS = ['CREATED', 'REPLACED', 'DELETED', 'RESTORED'] as const;
const WIDEST_COLLECTION = 22;
/** A consumer reads a record a little after its publication. */
const SNAPSHOT_SILENT_MS = 1_200;

type Counts = Map<string, number>;

/**
 * Shows records as they arrive. Each change of an absence is a line. Other records are a line each while they are few,
 * and a number when they are many.
 */
export class Changes {
  readonly #screen: Screen;
  readonly #timeZone: string;
  readonly #unshown = new Map<string, Counts>();
  readonly #classTitles = new Map<string, string>();
  readonly #timer: NodeJS.Timeout;
  #snapshot: Counts = new Map();
  #snapshotAtMs = Number.NEGATIVE_INFINITY;
  #linesThisSecond = 0;
  #published = 0;
  #isStopped = false;

  /** `timeZone`: IANA name, for the times of absences. */
  constructor(screen: Screen, options: { timeZone: string }) {
    this.#screen = screen;
    this.#timeZone = options.timeZone;
    this.#timer = setInterval(() => this.#flush(), 1_000);
    this.#timer.unref();
  }

  /** Number of absence changes that were news. */
  get published(): number {
    return this.#published;
  }

  /** Whether no record of a first load has arrived for a while. */
  get isSnapshotOver(): boolean {
    return performance.now() - this.#snapshotAtMs > SNAPSHOT_SILENT_MS;
  }

  show(records: readonly WatchedRecord[]): void {
    if (this.#isStopped) return;
    for (const record of records) {
      if (record.collection === 'progress') continue;
      if (record.collection === 'classes') this.#learnTitle(record);
      if (record.collection === 'absence-changes') this.#showStep(record);
      else if (IN_NUMBERS.has(record.collection)) this.#count(record);
      else this.#showOther(record, records.length);
    }
  }

  /** Shows what it has counted, and nothing that arrives later. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#flush();
  }

  #showOther(record: WatchedRecord, together: number): void {
    if (together > LINES_A_SECOND || this.#linesThisSecond >= LINES_A_SECOND) {
      this.#count(record);
      return;
    }
    const { colors } = this.#screen;
    const what = describeValue(record.collection, record.value, colors);
    this.#line(
      record.collection,
      `${this.#symbol(record.kind)} ${colors.dim(shortId(record.key).padEnd(13))} ${what}`,
    );
  }

  #showStep(record: WatchedRecord): void {
    const step = absenceStepOf(record.value, this.#timeZone);
    if (step === null) {
      this.#count(record);
      return;
    }
    if (step.isSnapshot) {
      addTo(this.#snapshot, step.operation);
      this.#snapshotAtMs = performance.now();
      return;
    }
    this.#published += 1;
    if (this.#linesThisSecond >= LINES_A_SECOND) {
      this.#count({ ...record, kind: step.operation });
      return;
    }
    const { colors } = this.#screen;
    const classTitle = (id: string): string | undefined => this.#classTitles.get(id);
    this.#line(record.collection, describeAbsenceStep(step, { colors, classTitle }));
  }

  #learnTitle({ key, value }: WatchedRecord): void {
    const title = (value as { title?: unknown } | null)?.title;
    if (typeof title === 'string') this.#classTitles.set(key, title);
  }

  #count({ collection, kind }: WatchedRecord): void {
    const kinds = this.#unshown.get(collection) ?? new Map<string, number>();
    addTo(kinds, kind);
    this.#unshown.set(collection, kinds);
  }

  #flush(): void {
    this.#linesThisSecond = 0;
    const { colors, happened } = this.#screen;
    if (this.#snapshot.size > 0) {
      const numbers = this.#operations(this.#snapshot);
      this.#line(
        'absence-changes',
        `${numbers}  ${colors.dim('snapshot: the state that was found, not news')}`,
      );
      this.#snapshot = new Map();
    }
    for (const [collection, kinds] of this.#unshown) {
      if (FOLLOWS_FROM_CHANGES.includes(collection)) continue;
      const isSteps = collection === 'absence-changes';
      this.#line(
        collection,
        isSteps ? this.#operations(kinds) : `${this.#symbols(kinds)} ${colors.dim('records')}`,
      );
    }
    const besides = FOLLOWS_FROM_CHANGES.flatMap((collection) => {
      const kinds = this.#unshown.get(collection);
      return kinds === undefined ? [] : [`${colors.dim(collection)} ${this.#symbols(kinds)}`];
    });
    if (besides.length > 0) happened(`${''.padEnd(WIDEST_COLLECTION)} ${besides.join(colors.dim(' · '))}`);
    this.#linesThisSecond = 0;
    this.#unshown.clear();
  }

  #line(collection: string, text: string): void {
    this.#linesThisSecond += 1;
    this.#screen.happened(`${collection.padEnd(WIDEST_COLLECTION)} ${text}`.trimEnd());
  }

  #operations(counts: Counts): string {
    const known = OPERATIONS.filter((operation) => counts.has(operation));
    const others = [...counts.keys()].filter((name) => !(OPERATIONS as readonly string[]).includes(name));
    return [...known, ...others].map((name) => `${count(counts.get(name) ?? 0)} ${name}`).join(' · ');
  }

  #symbols(kinds: Counts): string {
    const inOrder = [...kinds].sort(([one], [other]) => rankOf(one) - rankOf(other));
    return inOrder.map(([kind, number]) => `${this.#symbol(kind)}${count(number)}`).join(' ');
  }

  #symbol(kind: string): string {
    const { colors } = this.#screen;
    if (kind === 'created') return colors.green('+');
    return kind === 'deleted' ? colors.red('−') : colors.yellow('~');
  }
}

function addTo(counts: Counts, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

const KINDS = ['created', 'updated', 'deleted'];

function rankOf(kind: string): number {
  const rank = KINDS.indexOf(kind);
  return rank === -1 ? KINDS.length : rank;
}
