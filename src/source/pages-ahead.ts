import type { OpenOptions, SourceEnd, SourcePage, SourceScan } from './source-scan.ts';

/**
 * The pages of one scan, fetched one ahead of the reader unless it has a large page, besides those that the scan has requested
 * already. Iterate only once.
 */
export class PagesAhead implements AsyncIterable<SourcePage> {
  readonly #pages: AsyncGenerator<SourcePage, SourceEnd>;
  /** Null while nothing is fetched ahead. */
  #next: Promise<IteratorResult<SourcePage, SourceEnd>> | null;
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
        const step = await (this.#next ?? this.#pages.next());
        if (step.done === true) {
          this.#end = step.value;
          return;
        }
        // The reader is done with a large page before the scan goes on.
        this.#next = step.value.isLarge === true ? null : ahead(this.#pages);
        yield step.value;
      }
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    await this.#pages.return(undefined as never).catch(() => undefined);
  }
}

/** Opens scans in their order, some of them ahead of their turn: each of many short ones would else wait for its first page. */
export async function* scansAhead(
  scans: readonly SourceScan[],
  options: { readonly ahead: number; readonly open: OpenOptions },
): AsyncGenerator<{ readonly scope: string; readonly pages: PagesAhead }, void> {
  const opened: { scope: string; pages: PagesAhead; begin: () => void }[] = [];
  let next = 0;
  try {
    while (next < scans.length || opened.length > 0) {
      for (; opened.length <= options.ahead && next < scans.length; next += 1) {
        const scan = scans[next] as SourceScan;
        const { promise: turn, resolve: begin } = Promise.withResolvers<void>();
        const pages = new PagesAhead(scan.open({ ...options.open, turn }));
        opened.push({ scope: scan.scope, pages, begin });
      }
      const [{ begin, ...first }] = opened.splice(0, 1) as [(typeof opened)[number]];
      begin();
      yield first;
    }
  } finally {
    for (const { begin } of opened) begin();
    await Promise.all(opened.map(({ pages }) => pages.close()));
  }
}

/** The generator's next step, which may fail before anyone awaits it. */
function ahead<T, R>(pages: AsyncGenerator<T, R>): Promise<IteratorResult<T, R>> {
  const next = pages.next();
  next.catch(() => undefined);
  return next;
}
