// The status page: asks for status.json every few seconds and shows it. It needs no build, no library and no internet.
// All text goes through textContent, so nothing that comes from outside can become markup.
import { morph, node } from './dom.js';

const EVERY_MS = 3_000;
const TIMEOUT_MS = 10_000;
const STALE_MS = 15_000;
/** More tenants have a line each, which opens on demand. */
const OPEN_AT_MOST = 3;

/** Colour, mark and words of each state of a tenant. */
const LOOKS = {
  'needs-person': ['bad', '✗', 'needs a decision'],
  'in-trouble': ['bad', '✗', 'in trouble'],
  late: ['warn', '!', 'late'],
  starting: ['warn', '…', 'starting'],
  loading: ['warn', '…'],
  well: ['good', '✓'],
};

const main = document.querySelector('#main');
const overall = document.querySelector('#overall');
const meta = document.querySelector('#meta');
const total = document.querySelector('#summary');
const filter = document.querySelector('form');
let latest = null;
let receivedAtMs = 0;
/** What the clock of the process shows now, ms since the epoch. */
let nowMs = 0;

async function ask() {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    // Asks for the collections of open tenants only.
    const details = [...main.querySelectorAll('details[open]')].map(({ dataset }) => [
      'details',
      dataset.key,
    ]);
    const url = `status.json?${new URLSearchParams(details)}`;
    const response = await fetch(url, { cache: 'no-store', signal });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    latest = await response.json();
    receivedAtMs = Date.now();
  } catch {
    // The page shows how long it has had no answer.
  }
  if (latest !== null) show();
}

function show() {
  const silentMs = Date.now() - receivedAtMs;
  const isStale = silentMs > STALE_MS;
  nowMs = Date.parse(latest.at) + silentMs;
  const tenants = latest.tenants.filter(
    ({ tenant, state }) =>
      tenant.includes(filter.tenant.value.trim()) && !(filter.wrong.checked && state === 'well'),
  );
  const isFew = tenants.length <= OPEN_AT_MOST;
  filter.hidden = latest.tenantsConfigured <= OPEN_AT_MOST;
  const onTop = isFew ? tenants : [];
  const process = { tenant: 'this process', reasons: latest.reasons };
  const { note } = latest.configuration;
  const notes = note === null ? [] : [{ part: 'configuration', ...note }];
  const silence = `Rollcall has not answered for ${span(silentMs)}: what follows is from its last answer.`;
  const isLoading =
    latest.reasons.length === 0 && onTop.every(({ state }) => state === 'well' || state === 'loading');
  const next = main.cloneNode(false);
  next.append(
    ...(isStale ? [node('p', { class: 'alarm bad', 'data-key': ' stale', role: 'alert' }, silence)] : []),
    ...alarm('decisions', 'bad', '✗ A decision is needed', onTop.flatMap(decisionsOf)),
    ...alarm(
      'troubles',
      'warn',
      isLoading ? '… Loading' : '! Not well',
      [process, ...onTop].flatMap(troublesOf),
    ),
    ...alarm('configuration', 'warn', '! Configuration', troublesOf({ ...process, reasons: notes })),
    ...(tenants.length > 0 ? [] : [node('p', { 'data-key': ' idle' }, 'No tenant to show.')]),
    ...tenants.map((each) => tenantCard(each, isFew)),
  );
  morph(main, next);
  const [color, text] = summary(isStale);
  if (overall.textContent !== text) overall.textContent = text;
  overall.className = `pill ${color}`;
  document.title = `${text} · Rollcall`;
  const unknown = latest.tenantsConfigured - latest.tenants.length;
  const others = unknown === 0 ? '' : `; without Redis, nothing is known of ${unknown} more`;
  total.textContent = latest.summary + others;
  const own = latest.tenants.filter(({ isHere }) => isHere).length;
  const share = own < latest.tenantsConfigured ? `${own} of ${latest.tenantsConfigured} tenants here · ` : '';
  meta.textContent = `live · ${share}up for ${span(nowMs - Date.parse(latest.startedAt))} · version ${latest.version}`;
}

function summary(isStale) {
  if (isStale) return ['bad', '✗ no answer'];
  if (latest.needsPerson) return ['bad', '✗ needs a decision'];
  const well = latest.tenants.filter(({ state }) => state === 'well').length;
  const loading = latest.tenants.filter(({ state }) => state === 'loading').length;
  if (loading > 0 && loading + well === latest.tenantsConfigured) return ['warn', '… loading'];
  if (!latest.ready) return ['warn', '! not ready'];
  const isWell = latest.configuration.note === null && well === latest.tenantsConfigured;
  return isWell ? ['good', '✓ all well'] : ['warn', '! see below'];
}

function alarm(id, color, title, items) {
  if (items.length === 0) return [];
  const heading = node('h2', { id, class: color }, title);
  const attributes = { class: `alarm ${color}-edge`, 'data-key': ` ${id}`, 'aria-labelledby': id };
  return [node('section', attributes, heading, node('ul', {}, ...items))];
}

/** What only a person can decide, with the commands. */
function decisionsOf({ tenant, decisions }) {
  return decisions.map(({ what, since, question, commands }) =>
    node(
      'li',
      {},
      node('p', {}, node('b', {}, tenant), ` ${what}`, ...forHow(since)),
      node('p', { class: 'soft' }, `→ ${question}:`),
      node(
        'div',
        { class: 'wrap commands' },
        ...commands.map((command) =>
          node('button', { 'data-command': command, 'aria-label': `Copy: ${command}` }, command),
        ),
        helpLink('decide', 'how to decide'),
      ),
    ),
  );
}

/** What `rollcall help` says of a topic. */
function helpLink(topic, text) {
  return node('a', { href: `help/${topic}` }, text);
}

/** What is not well, with the remedy. */
function troublesOf({ tenant, reasons }) {
  return reasons.map(({ part, why, remedy, since }) =>
    node(
      'li',
      {},
      node('p', {}, node('b', {}, `${tenant} · ${part}`), ` ${why}`, ...forHow(since)),
      node('p', { class: 'soft' }, `→ ${remedy} `, helpLink(part, `more on ${part}`)),
    ),
  );
}

/** A tenant: its state and owner, what to do (unless the top of the page says it), and a row for each collection if it is open. */
function tenantCard(status, isFew) {
  const { tenant, state, headline, firstLoad, owner, isHere, collections } = status;
  const elsewhere = `To see its collections, open the page of its owner, or run "${latest.statusCommand} --tenant ${tenant}".`;
  const [color, mark, words = headline] = LOOKS[state] ?? ['warn', '?'];
  // With few tenants the reasons stand on top.
  const said = firstLoad ?? (isFew ? words : headline);
  return node(
    'details',
    { class: isFew ? 'card' : 'card line', 'data-key': tenant, ...(isFew ? { open: '' } : {}) },
    node(
      'summary',
      { class: 'wrap' },
      node('h2', {}, tenant),
      node('span', { class: color }, `${mark} ${said}`),
      node('span', { class: 'soft' }, ...ownerOf(owner)),
    ),
    ...(isFew ? [] : [node('ul', {}, ...decisionsOf(status), ...troublesOf(status))]),
    collections ? table(status) : node('p', { class: 'soft' }, isHere ? '…' : elsewhere),
  );
}

function ownerOf(owner) {
  return owner === null ? ['no process mirrors it'] : [`mirrored by ${owner.owner} for `, age(owner.since)];
}

/** Columns that show what is wrong come first, because a narrow screen shows only the first columns. */
const COLUMNS = [
  'collection',
  'on hold',
  'rejects',
  'sync',
  'complete up to',
  'in Kafka',
  'at last full sync',
  'last full sync',
];

const LEGEND =
  'on hold: rows whose removal needs a decision · rejects: rows that cannot be read ("rollcall tail rejects --to-end" says why) · complete up to: every change at the hub before this time is published, except removals (normally this time is incrementalOverlap ago, 5 min by default; newer changes are usually published, too) · in Kafka: rows in the topic now · at last full sync: rows that this sync found at the hub, or keys that a derived topic had then · derived: made from the collection above';

/** A derived collection stands below its source. */
function table({ tenant, collections }) {
  const own = collections.filter(({ derivedFrom }) => derivedFrom === null);
  const below = (name) => collections.filter(({ derivedFrom }) => derivedFrom === name);
  const titles = COLUMNS.map((title) => node('th', { scope: 'col' }, title));
  const rows = own.flatMap((each) => [each, ...below(each.collection)].flatMap(row));
  return node(
    'div',
    {},
    node(
      'div',
      // Reachable by keyboard, as it may scroll.
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Collections of ${tenant}` },
      node('table', {}, node('thead', {}, node('tr', {}, ...titles)), node('tbody', {}, ...rows)),
    ),
    node('p', { class: 'soft legend' }, LEGEND),
  );
}

/** The row of a collection, and below it its trouble with the remedy. A derived one has no syncs of its own. */
function row(each) {
  const { collection, derivedFrom, trouble } = each;
  const isDerived = derivedFrom !== null;
  const mark = isDerived ? '↳ ' : trouble ? '✗ ' : '';
  const cell = (color, ...content) => node('td', { class: color }, ...content);
  const number = (value, color) => cell(value > 0 ? color : 'soft', isDerived ? '–' : count(value));
  const shown = node(
    'tr',
    { 'data-key': collection },
    node('th', { scope: 'row', class: trouble ? 'bad' : '' }, mark + collection),
    number(each.rowsOnHold, 'bad'),
    number(each.rejected, trouble?.part === 'rejects' ? 'bad' : 'warn'),
    sync(each, cell),
    cell(each.late?.part === 'watermark' ? 'warn' : '', ...ago(each.watermark)),
    // Only full syncs count the keys of a derived collection.
    cell('', count(each.rowsNow)),
    cell('', count(each.rowsThen)),
    cell(each.late?.part === 'full' ? 'warn' : '', ...ago(each.lastCompleteFull)),
  );
  if (trouble === null) return [shown];
  const why = node('p', { class: 'bad' }, trouble.why);
  const remedy = node('p', { class: 'soft' }, `→ ${trouble.remedy}`);
  return [shown, node('tr', {}, node('td', { class: 'why', colspan: COLUMNS.length }, why, remedy))];
}

const KINDS = { FULL: 'full sync', INCREMENTAL: 'incremental sync' };

function sync(status, cell) {
  const { collection, isNotOffered, isWaiting, running, derivedFrom, sync: last, trouble } = status;
  if (isNotOffered) return cell('soft', 'not offered by the hub');
  if (derivedFrom !== null) return cell('soft', 'derived');
  if (running === null && trouble?.part === 'collection') return cell('bad', 'fails');
  if (running === null && isWaiting) return cell('soft', 'waits for its turn');
  if (running === null) return cell('soft', last === null ? 'none yet' : 'idle');
  const { mode, seen, expected, startedAt } = running;
  if (!expected) return cell('', `${KINDS[mode]} · ${count(seen)} rows`);
  const share = Math.min(1, seen / expected);
  const leftMs = ((nowMs - Date.parse(startedAt)) * (1 - share)) / share;
  const left = share > 0.02 ? `, ${span(leftMs)} left` : '';
  return cell(
    '',
    node('progress', { max: '1', value: share.toFixed(3), 'aria-label': `full sync of ${collection}` }),
    node('span', {}, ` ${Math.round(share * 100)} %${left}`),
  );
}

const counts = new Intl.NumberFormat('en-GB');

function count(value) {
  return value === null || value === undefined ? '–' : counts.format(value);
}

/** A duration (ms) in its largest unit. */
function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** The time since an ISO time. */
function age(iso) {
  if (!iso) return '–';
  const attributes = { datetime: iso, title: new Date(iso).toLocaleString() };
  return node('time', attributes, span(nowMs - Date.parse(iso)));
}

/** The same as words; a dash where the time is not known. */
function ago(iso) {
  return iso ? [age(iso), ' ago'] : ['–'];
}

/** The same after a trouble; nothing where the time is not known. */
function forHow(iso) {
  return iso ? [', for ', age(iso)] : [];
}

main.addEventListener('click', ({ target }) => {
  const button = target.closest('button[data-command]');
  if (button === null) return;
  const copied = navigator.clipboard?.writeText(button.dataset.command);
  copied?.then(() => button.classList.add('copied')).catch(() => undefined);
});

// The address keeps the filter.
const asked = new URLSearchParams(location.search);
filter.tenant.value = asked.get('tenant') ?? '';
filter.wrong.checked = asked.has('wrong');
filter.addEventListener('submit', (event) => event.preventDefault());
filter.addEventListener('input', () => {
  history.replaceState(null, '', `?${new URLSearchParams(new FormData(filter))}`);
  if (latest !== null) show();
});
// The event does not bubble.
main.addEventListener('toggle', () => void ask(), true);
setInterval(() => void ask(), EVERY_MS);
void ask();
