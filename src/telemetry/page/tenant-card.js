import { barChart } from './chart.js';
import { node } from './dom.js';
import { age, count, span, sum } from './words.js';

const LOOKS = {
  well: ['good', '✓'],
  'needs-person': ['bad', '✗'],
  'in-trouble': ['bad', '✗'],
  'not-mirrored': ['warn', '!'],
  loading: ['warn', '…'],
  unfinished: ['warn', '!'],
  late: ['warn', '!'],
};

function look({ state }) {
  return LOOKS[state] ?? ['warn', '?'];
}

/** A tenant: its state, its changes, and a row for each collection. */
export function tenantCard(status, { nowMs, isOpen }) {
  const [color, mark] = look(status);
  const { collections } = status;
  const own = collections.filter(({ derivedFrom }) => derivedFrom === null);
  const minutes = (own[0]?.changes ?? []).map((_, at) =>
    [0, 1, 2].map((kind) => sum(own.map(({ changes = [] }) => changes[at]?.[kind] ?? 0))),
  );
  const oldest = own.filter(({ hasIncremental, watermark }) => hasIncremental && watermark !== null);
  const watermark = oldest.map((each) => each.watermark).sort()[0] ?? null;
  const breaker = status.reasons.find(({ part }) => part === 'breaker');
  return node(
    'details',
    { class: 'card', 'data-key': status.tenant, ...(isOpen ? { open: '' } : {}) },
    node(
      'summary',
      {},
      node('h2', {}, status.tenant),
      node('span', { class: `headline ${color}` }, `${mark} ${status.headline}`),
    ),
    node(
      'p',
      { class: 'facts' },
      node(
        'span',
        {},
        'published up to ',
        node('b', {}, age(watermark, nowMs)),
        watermark === null ? '' : ' ago',
      ),
      node('span', {}, 'circuit ', node('b', { class: breaker ? 'bad' : '' }, breaker ? 'open' : 'closed')),
      node('span', {}, 'rejects ', node('b', {}, count(sum(own.map(({ rejected }) => rejected))))),
      node('span', {}, 'withheld ', node('b', {}, count(sum(own.map(({ withheld }) => withheld))))),
      node(
        'span',
        {},
        'owner ',
        node('b', {}, status.owner === null ? 'none yet' : status.owner.owner),
        status.owner === null ? '' : ' for ',
        status.owner === null ? '' : age(status.owner.since, nowMs),
        status.isOwnerAlive ? '' : ' (not at present)',
      ),
    ),
    changesFigure(minutes),
    node(
      'div',
      // Reachable by keyboard, as it may scroll.
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Collections of ${status.tenant}` },
      table(status, nowMs),
    ),
  );
}

function changesFigure(minutes) {
  const [created, updated, removed] = [0, 1, 2].map((kind) => sum(minutes.map((each) => each[kind])));
  return node(
    'figure',
    {},
    node(
      'figcaption',
      {},
      node('span', {}, 'Changes published in the last hour:'),
      node('span', { class: 'key created' }, `${count(created)} created`),
      node('span', { class: 'key updated' }, `${count(updated)} updated`),
      node('span', { class: 'key removed' }, `${count(removed)} removed`),
    ),
    barChart(minutes, {
      class: 'chart',
      height: 64,
      label: `Changes a minute in the last hour: ${created} created, ${updated} updated, ${removed} removed`,
    }),
  );
}

const COLUMNS = [
  ['collection', ''],
  ['rows at hub', 'number'],
  ['in Kafka', 'number'],
  ['last full', ''],
  ['last incremental', ''],
  ['up to', ''],
  ['last hour', ''],
  ['rejects', 'number'],
  ['withheld', 'number'],
  ['sync', ''],
];

function table({ tenant, collections }, nowMs) {
  const inOrder = collections
    .filter(({ derivedFrom }) => derivedFrom === null)
    .flatMap((each) =>
      [each].concat(collections.filter(({ derivedFrom }) => derivedFrom === each.collection)),
    );
  const alone = collections.filter((each) => !inOrder.includes(each));
  return node(
    'table',
    {},
    node('caption', {}, `Collections of ${tenant}`),
    node(
      'thead',
      {},
      node('tr', {}, ...COLUMNS.map(([title, kind]) => node('th', { scope: 'col', class: kind }, title))),
    ),
    node('tbody', {}, ...[...inOrder, ...alone].map((each) => row(each, nowMs))),
  );
}

function row(each, nowMs) {
  const isDerived = each.derivedFrom !== null;
  const cell = (at, kind, ...content) =>
    node('td', { 'data-label': COLUMNS[at][0], class: kind }, ...content);
  // On a phone, what is quiet is not worth a line.
  const number = (at, value, color) =>
    cell(at, value > 0 ? `number ${color}` : 'number none quiet', count(value));
  const lateClass = (by) => (each.lateBy === by ? 'warn' : '');
  return node(
    'tr',
    {},
    node(
      'th',
      { scope: 'row', class: isDerived ? 'derived' : '' },
      isDerived ? `↳ ${each.collection}` : each.collection,
    ),
    cell(1, isDerived ? 'number none quiet' : 'number', count(isDerived ? null : each.rowsAtHub)),
    cell(2, 'number', count(each.rowsInKafka ?? each.rows)),
    cell(3, lateClass('full'), age(each.lastCompleteFull, nowMs)),
    cell(4, isDerived ? 'quiet' : '', age(isDerived ? null : (each.lastIncrementalEnded ?? null), nowMs)),
    cell(5, lateClass('watermark'), age(each.watermark, nowMs)),
    cell(6, isBusy(each) ? 'wide' : 'quiet', spark(each)),
    isDerived ? cell(7, 'number none quiet', '–') : number(7, each.rejected, 'warn'),
    isDerived ? cell(8, 'number none quiet', '–') : number(8, each.withheld, 'bad'),
    cell(9, isDerived ? 'quiet' : 'wide', ...sync(each, nowMs)),
  );
}

function isBusy({ changes = [] }) {
  return changes.some((each) => sum(each) > 0);
}

function spark({ collection, changes = [] }) {
  const total = sum(changes.flat());
  return barChart(changes, {
    class: 'spark',
    height: 22,
    label: `${collection}: ${count(total)} changes in the last hour`,
  });
}

function sync({ collection, isNotOffered, running, unfinished, derivedFrom, sync: last }, nowMs) {
  if (isNotOffered) return [node('span', { class: 'none' }, 'not offered by the hub')];
  if (derivedFrom !== null) return [node('span', { class: 'none' }, `with ${derivedFrom}`)];
  if (running !== null) return runningSync(collection, running, nowMs);
  if (unfinished) return [node('span', { class: 'warn' }, '! the last one did not end')];
  return [node('span', { class: 'none' }, last === null ? 'none yet' : 'idle')];
}

function runningSync(collection, { mode, seen, expected, startedAt }, nowMs) {
  const name = mode === 'FULL' ? 'full' : 'incremental';
  if (expected === null || expected === 0) return [node('span', {}, `${name} · ${count(seen)} rows`)];
  const share = Math.min(1, seen / expected);
  const leftMs = share > 0.02 ? ((nowMs - Date.parse(startedAt)) * (1 - share)) / share : null;
  return [
    node('progress', { max: '1', value: share.toFixed(3), 'aria-label': `full sync of ${collection}` }),
    node('span', {}, ` ${Math.round(share * 100)} %${leftMs === null ? '' : `, ${span(leftMs)} left`}`),
  ];
}
