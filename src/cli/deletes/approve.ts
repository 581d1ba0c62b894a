import { hostname, userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import type { TenantConfig } from '../../config.ts';
import { countOf, formatCount } from '../../core/words.ts';
import type { Assembly } from '../../session/assemble.ts';
import { APPROVE, type ApproveOutcome } from '../../owner/deletes.ts';
import { asOwner } from '../as-owner.ts';
import { EXIT, exitCode } from '../exit-code.ts';
import type { Output } from '../output.ts';
import type { VerbContext } from '../verb-action.ts';
import { readWaitingLists, type WaitingTenant } from './read-waiting-lists.ts';
import { groupsOf, showWaiting } from './show-waiting.ts';

export interface ApproveFlags {
  readonly yes?: boolean | undefined;
  readonly reason?: string | undefined;
}

/** Shows what would be removed, asks where a person can answer, and has the owner remove it. */
export async function approve(
  context: VerbContext,
  assembly: Assembly,
  options: {
    readonly tenant: TenantConfig;
    readonly digest: string | undefined;
    readonly flags: ApproveFlags;
  },
): Promise<number> {
  const { output, signal } = context;
  const { tenant, digest: named, flags } = options;
  const [waiting] = await readWaitingLists(assembly, { tenants: [tenant], signal });
  if (waiting === undefined) throw new Error('no tenant was read');
  const { digest, rows } = waiting;
  if (digest === null) return showNothing(output, waiting);
  if (named !== undefined && named !== digest) return showChanged(output, named, formatCount(rows));
  const groups = await groupsOf(context, assembly, waiting);
  showWaiting(output, waiting, { groups, keys: 'none', only: null });
  if (named === undefined && flags.yes !== true && !(await isConfirmed(rows, signal))) {
    output.note(
      `! Not confirmed: nothing was removed\n→ Answer at a terminal, name the list (rollcall deletes approve ${digest}), or add --yes.`,
    );
    output.data({ confirmed: false, digest, rows, collections: [] });
    return exitCode({ needsPerson: true });
  }
  const progress = output.progress();
  const outcome = await asOwner(assembly, {
    tenantId: tenant.id,
    request: APPROVE,
    parameters: { digest, by: userName(), from: hostname(), reason: flags.reason ?? null },
    progress,
    signal,
  });
  progress.end();
  if (!outcome.isSame)
    return showChanged(output, digest, `${formatCount(outcome.rows)} of ${formatCount(rows)}`);
  show(output, outcome);
  output.data({ confirmed: true, digest, ...outcome });
  return exitCode({
    hasFailed: outcome.collections.some((each) => each.outcome !== 'done'),
    needsPerson: outcome.waiting > 0,
  });
}

/** Whether a person at a terminal says yes; false without a terminal. */
async function isConfirmed(rows: number, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await lines.question(`Remove ${countOf(rows, 'row')}? Type yes: `, { signal });
    return answer.trim().toLowerCase() === 'yes';
  } finally {
    lines.close();
  }
}

/** A container may have no name for its user. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

function showNothing(output: Output, waiting: WaitingTenant): number {
  const isLost = waiting.collections.length > 0;
  showWaiting(output, waiting, { groups: new Map(), keys: 'none', only: null });
  if (isLost)
    output.note('! There is no list to approve\n→ rollcall pull --full, then rollcall deletes list');
  output.data({ confirmed: null, digest: null, rows: 0, collections: [] });
  return isLost ? exitCode({ needsPerson: true }) : EXIT.ok;
}

function showChanged(output: Output, digest: string, rows: string): number {
  output.note(
    `✗ ${digest} is not the list any more: ${rows} rows now; nothing was removed\n→ Look again: rollcall deletes list`,
  );
  output.data({ confirmed: false, digest, collections: [] });
  return exitCode({ needsPerson: true });
}

function show(output: Output, { collections, waiting }: ApproveOutcome): void {
  output.table(
    [
      { title: '  collection' },
      { title: 'outcome' },
      ...['listed', 'removed', 'came back'].map((title) => ({ title, align: 'right' as const })),
    ],
    collections.map((each) => [
      `  ${each.collection}`,
      each.outcome === 'done' ? 'removed' : each.outcome,
      ...[each.listed, each.removed, each.back].map(formatCount),
    ]),
  );
  for (const { collection, why, remedy } of collections)
    if (why !== null) output.note(`✗ ${collection}: ${why}${remedy === null ? '' : `\n→ ${remedy}`}`);
  if (waiting > 0) output.note(`! ${countOf(waiting, 'row')} need another decision\n→ rollcall deletes list`);
}
