import { STATE_TOPIC } from '../../model/collections.ts';
import type { Output } from '../output.ts';
import { countOf, formatCount } from '../../core/words.ts';
import type { CountedTopic, LeftOverTopics } from './find-left-over.ts';
import type { TenantLeftOver } from './tenant-left-over.ts';

const MOST_NAMED = 5;

/** Prints the topics of disabled collections. */
export function showTenantLeftOver(output: Output, left: TenantLeftOver): void {
  const { colors } = output;
  const { tenant, topics, onlyInProgress } = left;
  const collections = [
    ...topics.map(({ suffix, recordsAtMost }) => ({
      suffix,
      text: `${suffix} (≤ ${countOf(recordsAtMost, 'record')})`,
    })),
    ...onlyInProgress.map((suffix) => ({ suffix, text: `${suffix} (without a topic)` })),
  ];
  if (collections.length > 0) {
    output.line(
      `  ${colors.yellow('!')} left over, not configured: ${collections.map(({ text }) => text).join(', ')}`,
    );
    const names = collections.map(({ suffix }) => suffix).filter((suffix) => suffix !== STATE_TOPIC);
    output.line(
      `    ${colors.cyan('→')} rollcall topics purge --tenant ${tenant} --collection ${names.join(' ')}`,
    );
  }
  if (collections.length > 0) output.line();
}

/** Prints a table of all topics that are not configured. */
export function showTopicsLeftOver(output: Output, topics: readonly CountedTopic[]): void {
  const { colors } = output;
  output.table(
    [{ title: '' }, { title: 'topic' }, { title: 'records ≤', align: 'right' }, { title: 'not configured' }],
    topics.map(({ topic, recordsAtMost, lacks }) => [
      colors.yellow('!'),
      topic,
      formatCount(recordsAtMost),
      lacks === 'tenant' ? 'no such tenant' : 'the tenant does not mirror it',
    ]),
  );
  output.line(
    `${colors.cyan('→')} "rollcall topics purge" removes a collection, a tenant or an earlier prefix that you name.`,
  );
}

/** Prints the tenants that are not configured. Another installation may mirror them. */
export function showTenantsLeftOver(output: Output, { topics }: LeftOverTopics): void {
  const { colors } = output;
  const tenants = Map.groupBy(
    topics.filter(({ lacks }) => lacks === 'tenant'),
    ({ tenantId }) => tenantId,
  );
  for (const [tenant, own] of [...tenants].slice(0, MOST_NAMED)) {
    const records = own.reduce((sum, { recordsAtMost }) => sum + recordsAtMost, 0);
    output.line(
      `${colors.yellow('!')} ${tenant} is not configured and has ${countOf(own.length, 'topic')} (≤ ${countOf(records, 'record')})`,
    );
    output.line(
      `  ${colors.cyan('→')} If no other installation mirrors it: rollcall topics purge --tenant ${tenant}`,
    );
  }
  if (tenants.size > MOST_NAMED)
    output.line(`  and ${formatCount(tenants.size - MOST_NAMED)} more tenants (rollcall topics list)`);
}

/** Prints the other prefixes that have topics with names of Rollcall's. */
export function showPrefixes(output: Output, { otherPrefixes }: LeftOverTopics): void {
  for (const [prefix, count] of [...otherPrefixes].slice(0, MOST_NAMED)) {
    output.line(
      `${output.colors.yellow('!')} ${countOf(count, 'topic')} under another prefix, ${prefix}: another installation's, or an earlier prefix of this one (rollcall topics list --prefix ${prefix})`,
    );
  }
  const more = otherPrefixes.size - MOST_NAMED;
  if (more > 0) output.line(`  and ${countOf(more, 'more prefix', 'more prefixes')}`);
}
