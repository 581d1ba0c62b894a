import type { OpenOptions, SourceEnd, SourcePage, SourceScan } from './source-scan.ts';

/** The pages of one scan, fetched one ahead of the reader, besides those that the scan has requested already. Iterate only once. */
export class PagesAhead implements AsyncIterable<SourcePage> {
  readonly #pages: AsyncGenerator<SourcePage, SourceEnd>;
  #next: Promise<IteratorResult<SourcePage, SourceEnd>>;
  #end: SourceEnd | null = null;

  constructor(pages: AsyncGenerator<SourcePage, SourceEnd>) {
    this.#pages = pages;
    this.#next = ahead(pages);
  }

  /** How the scan ended. Throws while it has not. */
  get end(): SourceEnd {
    if (this.#end === null) throw new Error('the scan has not ended');
    return this.#end;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SourcePage, void> {
    try {
      for (;;) {
        const step = await this.#next;
        if (step.done === true) {
          this.#end = step.value;
          return;
        }
        this.#next = ahead(this.#pages);
        yield step.value;
      }
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    await this.#pages.return(undefined as never).catch(() => undefined);
  }

  /** Whether the next page, or the end, has arrived by the next turn of the event loop. */
  hasNext(): Promise<boolean> {
    const arrived = this.#next.then(
      () => true,
      () => true,
    );
    return Promise.race([arrived, new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
  }
}

/** Opens scans in their order, some of them ahead of their turn: each of many short ones would else wait for its first page. */
export async function* scansAhead(
  scans: readonly SourceScan[],
  options: { readonly ahead: number; readonly open: OpenOptions },
): AsyncGenerator<{ readonly scope: string; readonly pages: PagesAhead }, void> {
  const opened: { scope: string; pages: PagesAhead }[] = [];
  let next = 0;
  try {
    while (next < scans.length || opened.length > 0) {
      for (; opened.length <= options.ahead && next < scans.length; next += 1) {
        const scan = scans[next] as SourceScan;
        opened.push({ scope: scan.scope, pages: new PagesAhead(scan.open(options.open)) });
      }
      yield opened.shift() as (typeof opened)[number];
    }
  } finally {
    await Promise.all(opened.map(({ pages }) => pages.close()));
  }
}

/** The generator's next step, which may fail before anyone awaits it. */
function ahead<T, R>(pages: AsyncGenerator<T, R>): Promise<IteratorResult<T, R>> {
  const next = pages.next();
  next.catch(() => undefined);
  return next;
}
