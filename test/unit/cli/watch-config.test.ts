import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RECHECK_AFTER_MS, watchConfig } from '../../../src/cli/watch-config.ts';
import { RunningConfig } from '../../../src/config/running-config.ts';
import { Board } from '../../../src/telemetry/board.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { jsonWith, tenantOf } from '../config/config-text.ts';
import { capturedLog } from '../telemetry/support/captured-log.ts';

/** Two looks in a row must find the same. */
const TAKEN_UP_AFTER_MS = 2 * RECHECK_AFTER_MS;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const configOf = (ids: readonly string[], settings: object = {}): string => {
  const hub = { clientSecret: '${file:/secret}' };
  return jsonWith(
    ids.map((id) => tenantOf(id, { collections: ['users'] }, hub)),
    settings,
  );
};

/** A process that mirrors north and south, and watches its configuration. */
function watched() {
  let text = configOf(['north', 'south']);
  let secret = 'one';
  const readFile = (path: string): string => (path === '/secret' ? secret : text);
  const file = new RunningConfig({ path: 'rollcall.yaml', env: {}, readFile });
  const board = new Board(file, { version: '1', now: () => Date.now() });
  board.showTenants(['north', 'south']);
  const metrics = new Registry();
  createMetrics(metrics, board, { process: false });
  const { logger, lines } = capturedLog();
  const onChanged = vi.fn<() => void>();
  const watch = watchConfig(file, { board, logger, onChanged });
  return {
    board,
    metrics,
    lines,
    onChanged,
    shown: () => board.tenants.map(({ tenant }) => tenant),
    write: (written: string): void => void (text = written),
    writeSecret: (written: string): void => void (secret = written),
    secret: () => file.config.tenants[0]?.hub.clientSecret.reveal(),
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  };
}

const taken = () => vi.advanceTimersByTimeAsync(TAKEN_UP_AFTER_MS);

it('a running process takes up a changed configuration once, and no half-written file', () => {
  using process = watched();
  process.write(configOf(['north']));
  process.writeSecret('t');
  vi.advanceTimersByTime(RECHECK_AFTER_MS);
  process.write(configOf(['north', 'east']));
  vi.advanceTimersByTime(RECHECK_AFTER_MS);
  process.writeSecret('two');
  vi.advanceTimersByTime(TAKEN_UP_AFTER_MS - 1);
  expect([process.secret(), process.onChanged.mock.calls]).toEqual(['one', []]);
  vi.advanceTimersByTime(60_000);
  expect(process.secret()).toBe('two');
  expect(process.onChanged.mock.calls).toMatchObject([[{ added: ['east'], removed: ['south'] }]]);
  expect(process.lines.join('')).toContain('"added":["east"],"changed":[],"removed":["south"]');
});

it('a running process takes up a changed configuration at once at SIGHUP', () => {
  const before = process.listenerCount('SIGHUP');
  const watching = watched();
  watching.write(configOf(['north']));
  process.emit('SIGHUP');
  expect(watching.onChanged).toHaveBeenCalledOnce();
  watching[Symbol.dispose]();
  expect(process.listenerCount('SIGHUP')).toBe(before);
  watching.write(configOf(['south']));
  vi.advanceTimersByTime(60_000);
  expect(watching.onChanged).toHaveBeenCalledOnce();
});

it('a running process stops showing a removed tenant, and shows a changed tenant anew', async () => {
  using process = watched();
  const [north] = process.board.tenants;
  expect(await process.metrics.metrics()).toContain('tenant="south"');
  process.write(configOf(['north']));
  await taken();
  expect([process.board.configured, process.board.tenants]).toEqual([['north'], [north]]);
  const text = await process.metrics.metrics();
  expect(text).not.toContain('tenant="south"');
  expect(text).toContain('rollcall_owner{prefix="rollcall",tenant="north"} 0');
  process.write(configOf(['north']).replace('users', 'orgs'));
  await taken();
  const shown = process.board.tenants.map((each) =>
    each.status().collections.map(({ collection }) => collection),
  );
  expect(shown).toEqual([['orgs']]);
});

it('an invalid configuration on disk is logged once, and shown everywhere until it is corrected', async () => {
  using process = watched();
  const before = process.board.readiness().reasons;
  const expectShown = async (isValid: boolean, note: object | null, said: string) => {
    expect(await process.board.json()).toMatchObject({ configuration: { isValid, note } });
    expect(process.board.heartbeatOf('north')['note']).toContain(said);
    expect(await process.metrics.metrics()).toContain(`rollcall_configuration_valid ${isValid ? 1 : 0}`);
  };
  await expectShown(true, null, 'null');
  process.write('{ "tenants": [] }');
  await vi.advanceTimersByTimeAsync(10 * RECHECK_AFTER_MS);
  const logged = process.lines.filter((line) => line.includes('is not valid'));
  expect(logged).toEqual([expect.stringContaining('line 1: tenants names no tenant')]);
  const why = expect.stringContaining('tenants names no tenant') as string;
  await expectShown(false, { why }, 'tenants names no tenant');
  const broken = expect.objectContaining({ part: 'configuration', why }) as object;
  expect([process.shown(), process.board.readiness().reasons]).toEqual([
    ['north', 'south'],
    [...before, broken],
  ]);
  process.write(configOf(['north', 'south']));
  await taken();
  await expectShown(true, null, 'null');
  expect(process.lines.at(-1)).toContain('the configuration has been read again');
  expect(await process.board.json()).toMatchObject({ configuration: { since: new Date().toISOString() } });
  // One that waits for a restart is valid.
  process.write(configOf(['north', 'south', 'east'], { http: { port: 1 } }));
  await taken();
  const remedy = expect.stringContaining('Restart') as string;
  await expectShown(true, { remedy }, 'Restart');
  expect(process.lines.join('')).toMatch(/"added":\["east"\][^]*differs in http.port/);
});
