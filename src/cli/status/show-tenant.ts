import type { Output } from '../output.ts';
import { countOf, formatAge, formatCount, formatDuration, printable } from '../../core/words.ts';
import type { KnownContradictions } from '../../core/health/tenant-facts.ts';
import type { CollectionStatus } from '../../core/health/collection-status.ts';
import type { LateNote } from '../../core/late-rows.ts';
import { contradictoryAbsences } from '../../core/health/tenant-status.ts';
import type { TenantStatus } from '../../core/health/tenant-status.ts';

const LEAST_ADVISED_MS = 600_000;
const PAINT = {
  'needs-person': { mark: '✗', color: 'red' },
  'in-trouble': { mark: '✗', color: 'red' },
  'not-mirrored': { mark: '!', color: 'yellow' },
  loading: { mark: '!', color: 'yellow' },
  unfinished: { mark: '!', color: 'yellow' },
  late: { mark: '!', color: 'yellow' },
  well: { mark: '✓', color: 'green' },
} as const;

/** Prints a tenant's headline, its table, late rows and contradictions. */
export function showTenant(output: Output, status: TenantStatus, nowMs: number): void {
  const { colors } = output;
  const { mark, color } = PAINT[status.state];
  output.line(
    `${colors[color](mark)} ${colors.bold(status.tenant)}  ${colors[color](printable(status.headline))}`,
  );
  if (status.owner !== null) output.line(`  ${ownerLine(status, nowMs)}`);
  const remedy = remedyOf(status);
  if (remedy !== null) output.line(`  ${colors.cyan('→')} ${remedy}`);
  output.line();
  if (status.state === 'not-mirrored') return;
  output.table(
    [
      '  collection',
      'rows',
      'last full',
      'up to',
      'sync',
      'seen',
      'published',
      'removed',
      'withheld',
      'rejects',
    ],
    inTableOrder(status.collections).map((each) => row(output, each, nowMs)),
  );
  output.line();
  for (const each of status.collections) showLateRows(output, each);
  if (status.contradictions !== null) showContradictions(output, status.contradictions);
}

/** Puts a derived collection below its source. */
function inTableOrder(collections: readonly CollectionStatus[]): CollectionStatus[] {
  const names = new Set(collections.map(({ collection }) => collection));
  return collections.flatMap((each) => {
    if (each.derivedFrom !== null && names.has(each.derivedFrom)) return [];
    return [each, ...collections.filter(({ derivedFrom }) => derivedFrom === each.collection)];
  });
}

function remedyOf({ state, decisions, reasons }: TenantStatus): string | null {
  if (state === 'in-trouble') return reasons[0] === undefined ? null : printable(reasons[0].remedy);
  if (state === 'unfinished') {
    return '"rollcall pull" reads again and reports what is wrong; so does the log of a running process.';
  }
  return decisions[0]?.commands.join(', then: ') ?? null;
}

function row({ colors }: Output, each: CollectionStatus, nowMs: number): string[] {
  const aged = (text: string): string => (each.late === null ? text : colors.yellow(text));
  return [
    each.derivedFrom === null ? `  ${each.collection}` : `  ↳ ${each.collection}`,
    each.rows === null ? '-' : formatCount(each.rows),
    aged(formatAge(each.lastCompleteFullMs, nowMs)),
    aged(formatAge(each.watermarkMs, nowMs)),
    ...syncCells(each, colors.yellow),
    ...(each.derivedFrom === null
      ? [
          each.withheld === 0 ? '0' : colors.red(formatCount(each.withheld)),
          each.rejected === 0 ? '0' : colors.yellow(formatCount(each.rejected)),
        ]
      : ['-', '-']),
  ];
}

function syncCells(
  { sync, unfinished, derivedFrom, isNotOffered }: CollectionStatus,
  warn: (text: string) => string,
): string[] {
  if (isNotOffered) return ['not offered', '-', '-', '-'];
  if (sync === null) return ['-', '-', '-', '-'];
  if (derivedFrom !== null) return ['-', '-', formatCount(sync.published), formatCount(sync.removed)];
  const name = sync.mode === 'FULL' ? 'full' : 'incremental';
  return [
    sync.complete ? name : unfinished ? warn(`${name} !`) : `${name} …`,
    formatCount(sync.seen),
    formatCount(sync.published),
    formatCount(sync.removed),
  ];
}

function ownerLine({ owner, isOwnerAlive }: TenantStatus, nowMs: number): string {
  const name = printable(owner?.owner ?? '');
  const since = formatAge(owner?.ownedSinceMs ?? null, nowMs);
  if (isOwnerAlive === null) return `last taken over by ${name}, ${since}`;
  return isOwnerAlive
    ? `run by ${name}, taken over ${since}`
    : `not running; last taken over by ${name}, ${since}`;
}

/** Prints the rows that incremental syncs missed. The sufficient overlap is unknown: the advice is to double it first. */
function showLateRows(output: Output, { collection, lateRows }: CollectionStatus): void {
  if (lateRows === null) return;
  const { colors } = output;
  const { why, remedy } = explainLate(lateRows);
  const missed = `incremental syncs missed ${countOf(lateRows.rows, 'row')}, which the last full sync found`;
  output.line(`  ${colors.yellow('!')} ${collection}: ${missed}: ${why}`);
  output.line(`    ${colors.cyan('→')} ${remedy}`);
  output.line();
}

function explainLate({ lagAtMostMs, overlapMs }: LateNote): { why: string; remedy: string } {
  if (lagAtMostMs === null) {
    return {
      why: "none has brought a row, so the hub's filter on dateLastModified seems to select nothing",
      remedy:
        'rollcall check asks the hub for a listed row by this filter. If it comes, raise deltaOverlap; otherwise have the filter mended.',
    };
  }
  const twice = formatDuration(Math.max(2 * overlapMs, LEAST_ADVISED_MS));
  return {
    why: `the hub showed them more than deltaOverlap (${formatDuration(overlapMs)}) and at most ${formatDuration(lagAtMostMs)} after their dateLastModified`,
    remedy: `Raise deltaOverlap, to ${twice} at first.`,
  };
}

function showContradictions(output: Output, known: KnownContradictions): void {
  const { colors } = output;
  if (known.absences === 0) return;
  output.line(`  ${colors.yellow('!')} ${contradictoryAbsences(known)}: ${odditiesOf(known)}`);
  for (const each of known.first)
    output.line(`      absence ${printable(each.absenceId)}: ${odditiesOf(each)}`);
  const others = known.absences - known.first.length;
  if (others > 0) output.line(`      and ${known.isAtLeast ? 'at least ' : ''}${formatCount(others)} more`);
  output.line(
    `    The hub's records of these absences do not fit each other; Rollcall publishes what fits. docs/consuming.md explains both counts.`,
  );
  output.line();
}

function odditiesOf({ links, students }: { links: number; students: number }): string {
  const parts = [
    ...(links === 0 ? [] : [`${countOf(links, 'link')} not followed`]),
    ...(students === 0 ? [] : [`${countOf(students, 'version')} of another student`]),
  ];
  return parts.join(', ');
}
