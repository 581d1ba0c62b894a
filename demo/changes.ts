import { describeValue, shortId } from './describe-change.ts';
import { count, type Screen } from './screen.ts';
import type { WatchedRecord } from './watch-topics.ts';

/** More lines than this in a second no one can read. */
const LINES_A_SECOND = 8;

/** Shows records as they arrive: one line each while they are few, a line a topic when they are many. */
export class Changes {
  readonly #screen: Screen;
  readonly #counts = new Map<string, number>();
  readonly #unshown = new Map<string, Map<string, number>>();
  readonly #timer: NodeJS.Timeout;
  #linesThisSecond = 0;
  #firstAtMs: number | null = null;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#timer = setInterval(() => this.#flush(), 1_000);
    this.#timer.unref();
  }

  /** Records by topic, `progress` left out. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** When the first record was shown, by performance.now. */
  get firstAtMs(): number | null {
    return this.#firstAtMs;
  }

  show(records: readonly WatchedRecord[]): void {
    for (const record of records) {
      this.#counts.set(record.collection, (this.#counts.get(record.collection) ?? 0) + 1);
      if (record.collection === 'progress') continue;
      this.#firstAtMs ??= performance.now();
      if (records.length <= LINES_A_SECOND && this.#linesThisSecond < LINES_A_SECOND) {
        this.#linesThisSecond += 1;
        this.#screen.happened(this.#line(record));
      } else {
        const kinds = this.#unshown.get(record.collection) ?? new Map<string, number>();
        kinds.set(record.kind, (kinds.get(record.kind) ?? 0) + 1);
        this.#unshown.set(record.collection, kinds);
      }
    }
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#flush();
  }

  #flush(): void {
    this.#linesThisSecond = 0;
    for (const [collection, kinds] of this.#unshown) {
      const { colors } = this.#screen;
      const parts = [...kinds].map(([kind, number]) => `${this.#sign(kind)}${count(number)}`);
      this.#screen.happened(`${collection.padEnd(22)} ${parts.join(' ')} ${colors.dim('records')}`);
    }
    this.#unshown.clear();
  }

  #line({ collection, key, kind, value }: WatchedRecord): string {
    const { colors } = this.#screen;
    const what = describeValue(collection, value, colors);
    return `${collection.padEnd(22)} ${this.#sign(kind)} ${colors.dim(shortId(key).padEnd(13))} ${what}`;
  }

  #sign(kind: string): string {
    const { colors } = this.#screen;
    if (kind === 'created') return colors.green('+');
    return kind === 'deleted' ? colors.red('−') : colors.yellow('~');
  }
}
