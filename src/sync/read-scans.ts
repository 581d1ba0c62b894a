import type { ScanEvidence } from '../core/deletions/evidence.ts';
import type { OpenOptions, Reading, SourceEnd, SourcePage } from '../source/source-scan.ts';
import type { RunningSync } from './sync.ts';

/** The pages of all scans. `scans` gets the evidence of each scan when the scan has ended. */
export async function* pagesOf(
  run: RunningSync,
  options: { isSingle: boolean; scans: ScanEvidence[] },
): AsyncGenerator<SourcePage, undefined> {
  const { own, sync, answers } = run;
  const { unread } = own.findings;
  const sinceMs = sync.isFull ? undefined : (own.writer.progress?.watermarkMs ?? undefined);
  const optionsOf = (scope: string) => ({
    // A scope that could not be read may have changes from before the watermark.
    modifiedAfterMs: unread.has(scope) ? undefined : sinceMs,
    pages: sync.isFull ? own.pages : undefined,
    readVersion: own.writer.readVersion,
    signal: run.options.signal,
  });
  const ahead = options.isSingle ? 0 : own.tenant.scopesAhead;
  for await (const { scope, pages } of scansInTurn(run, { ahead, optionsOf })) {
    const seenBefore = sync.seen.size;
    const withoutIdBefore = sync.stats.rowsWithoutId;
    const end = yield* answers.read(scope, pages);
    if (end.isUnread !== true) unread.delete(scope);
    else if (!unread.has(scope)) unread.set(scope, own.tenant.runtime.now());
    const rowsWithoutId = sync.stats.rowsWithoutId - withoutIdBefore;
    // A row without an id counts as a separate row.
    const distinctRows = sync.seen.size - seenBefore + rowsWithoutId;
    options.scans.push({ scope, distinctRows, rowsWithoutId, ...end });
  }
}

/**
 * In an incremental sync of changed scopes, the scopes that had no answer last time come last. If no scope has been
 * answered by then, one more scope is read before them: its answer shows that the hub is not in trouble, and closes
 * the circuit.
 */
async function* scansInTurn(
  { own, sync, reading, answers, wanted }: RunningSync,
  options: Parameters<typeof scansAhead>[2],
): ReturnType<typeof scansAhead> {
  const scansOf = (scopes: ReadonlySet<string>) => scansAhead(reading, scopes, options);
  if (sync.isFull || own.source.changedScopes === undefined || wanted.size === 0)
    return yield* scansOf(wanted);
  const unread = new Set(own.findings.unread.keys());
  yield* scansOf(wanted.difference(unread));
  if (!answers.hasAnswer) {
    const others = reading.scopes.difference(wanted).difference(unread);
    yield* scansOf(new Set(others.values().take(1)));
  }
  yield* scansOf(wanted.intersection(unread));
}

/**
 * Opens scans in their order, some of them ahead of their turn, so that a sync of many short scans does not wait for
 * each first page.
 */
export async function* scansAhead(
  reading: Pick<Reading, 'open'>,
  scopes: ReadonlySet<string>,
  options: { readonly ahead: number; readonly optionsOf: (scope: string) => OpenOptions },
): AsyncGenerator<{ readonly scope: string; readonly pages: AsyncGenerator<SourcePage, SourceEnd> }, void> {
  const left = scopes.values();
  const opened: OpenedScan[] = [];
  try {
    for (;;) {
      for (const scope of left.take(options.ahead + 1 - opened.length))
        opened.push(openNow(reading, scope, options.optionsOf(scope)));
      const next = opened.shift();
      if (next === undefined) return;
      next.begin();
      yield { scope: next.scope, pages: withFirst(next) };
    }
  } finally {
    for (const { begin } of opened) begin();
    await Promise.all(opened.map(({ pages }) => pages.return(undefined as never).catch(() => undefined)));
  }
}

type OpenedScan = ReturnType<typeof openNow>;

/** Asks for the first page, which may fail before anyone awaits it. `begin`: the turn of the scan has come. */
function openNow({ open }: Pick<Reading, 'open'>, scope: string, options: OpenOptions) {
  const { promise: turn, resolve: begin } = Promise.withResolvers<void>();
  const pages = open(scope, { ...options, turn });
  const first = pages.next();
  first.catch(() => undefined);
  return { scope, begin, pages, first };
}

/** All pages of an opened scan. The first one was already requested. */
async function* withFirst({ pages, first }: OpenedScan): AsyncGenerator<SourcePage, SourceEnd> {
  try {
    let step = await first;
    for (; step.done !== true; step = await pages.next()) yield step.value;
    return step.value;
  } finally {
    await pages.return(undefined as never).catch(() => undefined);
  }
}
