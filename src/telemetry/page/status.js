// The status page: asks for status.json every few seconds and shows it. It needs no build, no library and no internet.
// All text goes through textContent, so nothing that comes from outside can become markup.
import { decisions, troubles } from './alarms.js';
import { morph, node } from './dom.js';
import { tenantCard } from './tenant-card.js';
import { span } from './words.js';

const EVERY_MS = 3_000;
const TIMEOUT_MS = 10_000;
const STALE_MS = 15_000;
const OPEN_AT_MOST = 3;

/** The order of the tenants: those that need a person come first. */
const GRAVEST = ['needs-person', 'in-trouble', 'late', 'unfinished', 'loading', 'not-mirrored', 'well'];

const main = document.querySelector('#main');
const overall = document.querySelector('#overall');
const meta = document.querySelector('#meta');
let latest = null;
let receivedAtMs = 0;

function show() {
  if (latest === null) return;
  const silentMs = Date.now() - receivedAtMs;
  const isStale = silentMs > STALE_MS;
  const nowMs = Date.parse(latest.at) + silentMs;
  const tenants = [...latest.tenants].sort(
    (one, other) => GRAVEST.indexOf(one.state) - GRAVEST.indexOf(other.state),
  );
  const next = main.cloneNode(false);
  if (isStale) {
    const text = `Rollcall has not answered for ${span(silentMs)}: what follows is as it was then.`;
    next.append(node('p', { class: 'alarm bad', 'data-key': ' stale', role: 'alert' }, text));
  }
  next.append(
    ...decisions(tenants),
    ...troubles(tenants),
    ...tenants.map((each, at) => tenantCard(each, { nowMs, isOpen: at < OPEN_AT_MOST })),
  );
  morph(main, next);
  const [color, text] = summary(isStale);
  if (overall.textContent !== text) overall.textContent = text;
  overall.className = `pill ${color}`;
  document.title = `${text} · Rollcall`;
  meta.textContent = `live · up for ${span(nowMs - Date.parse(latest.startedAt))} · version ${latest.version}`;
}

function summary(isStale) {
  if (isStale) return ['bad', '✗ no answer'];
  if (latest.needsPerson) return ['bad', '✗ needs a decision'];
  if (!latest.ready) return ['warn', '! not ready'];
  const isWell = latest.tenants.every(({ state }) => state === 'well');
  return isWell ? ['good', '✓ all well'] : ['warn', '! see below'];
}

async function ask() {
  try {
    const response = await fetch('status.json', {
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    latest = await response.json();
    receivedAtMs = Date.now();
  } catch {
    // The page shows how long it has had no answer.
  }
  show();
}

main.addEventListener('click', ({ target }) => {
  const button = target.closest('button[data-command]');
  if (button === null) return;
  const copied = navigator.clipboard?.writeText(button.dataset.command);
  copied?.then(() => button.classList.add('copied')).catch(() => undefined);
});

/** Sends one request after another; a slow answer delays the next request. */
function askForever() {
  void ask().then(() => setTimeout(askForever, EVERY_MS));
}

askForever();
