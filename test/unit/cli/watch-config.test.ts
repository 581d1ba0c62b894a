import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RECHECK_AFTER_MS, watchConfig } from '../../../src/cli/watch-config.ts';
import { ConfigFile } from '../../../src/config/config-file.ts';
import { Board } from '../../../src/telemetry/board.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { caughtUp } from '../telemetry/support/board-of.ts';

/** Two looks in a row must find the same. */
const TAKEN_UP_AFTER_MS = 2 * RECHECK_AFTER_MS;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const configOf = (ids: readonly string[], settings: object = {}): string =>
  JSON.stringify({
    tenants: ids.map((id) => ({
      id,
      collections: ['users'],
      hub: { baseUrl: 'https://h', tokenUrl: 'https://h', clientId: 'c', clientSecret: '${file:/secret}' },
    })),
    kafka: { brokers: ['localhost:9092'] },
    registry: { url: 'http://localhost:8081' },
    ...settings,
  });

/** A process that mirrors north and south, and watches its configuration. */
function watched() {
  let text = configOf(['north', 'south']);
  let secret = 'one';
  const readFile = (path: string): string => (path === '/secret' ? secret : text);
  const file = new ConfigFile({ path: 'rollcall.yaml', env: {}, readFile });
  const board = new Board(file, { version: '1', now: () => Date.now() });
  board.hold(['north', 'south']);
  const metrics = new Registry();
  const count = createMetrics(metrics, board, { process: false });
  for (const tenant of ['north', 'south']) {
    count(tenant, caughtUp('users', null));
    const done = { type: 'request-done', target: 'users', status: 200, durationMs: 1 } as never;
    count(tenant, { type: 'hub', event: done });
  }
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', destination: { write: (line: string) => lines.push(line) } });
  const onChanged = vi.fn<() => void>();
  const watch = watchConfig(file, { board, metrics, logger, onChanged });
  return {
    board,
    metrics,
    lines,
    count,
    onChanged,
    shown: () => board.tenants.map(({ tenant }) => tenant),
    write: (written: string): void => void (text = written),
    writeSecret: (written: string): void => void (secret = written),
    secret: () => file.config.tenants[0]?.hub.clientSecret.reveal(),
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  };
}

describe('a running process', () => {
  it('takes up a changed configuration within seconds', () => {
    using process = watched();
    process.write(configOf(['north', 'east']));
    vi.advanceTimersByTime(TAKEN_UP_AFTER_MS - 1);
    expect(process.onChanged).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(process.onChanged.mock.calls).toEqual([[{ added: ['east'], changed: [], removed: ['south'] }]]);
    expect(process.lines.join('')).toContain('"added":["east"],"changed":[],"removed":["south"]');
    vi.advanceTimersByTime(60_000);
    expect(process.onChanged).toHaveBeenCalledOnce();
  });

  it('takes up no half of a file that is being written, nor of one that the configuration names', () => {
    using process = watched();
    process.write(configOf(['north']));
    process.writeSecret('t');
    vi.advanceTimersByTime(RECHECK_AFTER_MS);
    process.write(configOf(['north', 'south', 'east']));
    vi.advanceTimersByTime(RECHECK_AFTER_MS);
    process.writeSecret('two');
    vi.advanceTimersByTime(RECHECK_AFTER_MS);
    expect([process.secret(), process.onChanged.mock.calls]).toEqual(['one', []]);
    vi.advanceTimersByTime(RECHECK_AFTER_MS);
    expect(process.secret()).toBe('two');
    expect(process.onChanged.mock.calls).toMatchObject([[{ added: ['east'], removed: [] }]]);
  });

  it('takes it up at once at SIGHUP, until it ends', () => {
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

  it('shows a removed tenant nowhere: not on the board, in no gauge and in no counter, also when it ends its last sync later', async () => {
    using process = watched();
    expect(await process.metrics.metrics()).toContain('tenant="south"');
    process.write(configOf(['north']));
    await vi.advanceTimersByTimeAsync(TAKEN_UP_AFTER_MS);
    process.count('south', caughtUp('users', null));
    expect(process.shown()).toEqual(['north']);
    expect(process.board.configured).toEqual(['north']);
    const text = await process.metrics.metrics();
    expect(text).not.toContain('tenant="south"');
    expect(text).toContain('rollcall_hub_requests_total{tenant="north",outcome="ok"} 1');
    expect(text).toContain('rollcall_owner{tenant="north"} 0');
  });

  it('shows a changed tenant as one that begins, and the others as they are', () => {
    using process = watched();
    const [north, south] = process.board.tenants;
    const text = JSON.parse(configOf(['north', 'south'])) as { tenants: [object, object] };
    Object.assign(text.tenants[1], { collections: ['orgs'] });
    process.write(JSON.stringify(text));
    vi.advanceTimersByTime(TAKEN_UP_AFTER_MS);
    expect(process.board.tenants[0]).toBe(north);
    expect(process.board.tenants[1]).not.toBe(south);
    expect(process.board.tenants[1]?.status().collections.map(({ collection }) => collection)).toEqual([
      'orgs',
    ]);
  });
});

describe('a configuration on disk that is not valid', () => {
  it('is logged once, and shown by page, heartbeat and metrics until it is mended, while the tenants stay as they are', async () => {
    using process = watched();
    const before = process.board.reasons();
    const valid = 'rollcall_configuration_valid';
    expect(await process.metrics.metrics()).toContain(`${valid} 1`);
    process.write('{ "tenants": [] }');
    await vi.advanceTimersByTimeAsync(10 * RECHECK_AFTER_MS);
    const logged = process.lines.filter((line) => line.includes('is not valid'));
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain('line 1: tenants names no tenant');
    const note = { why: expect.stringContaining('tenants names no tenant') as string };
    expect(await process.board.json()).toMatchObject({ configuration: { isValid: false, note } });
    expect(process.board.heartbeatOf('north')['note']).toContain('tenants names no tenant');
    expect(await process.metrics.metrics()).toContain(`${valid} 0`);
    expect([process.shown(), process.board.reasons()]).toEqual([['north', 'south'], before]);
    process.write(configOf(['north', 'south']));
    await vi.advanceTimersByTimeAsync(TAKEN_UP_AFTER_MS);
    expect(await process.board.json()).toMatchObject({ configuration: { isValid: true, note: null } });
    expect(process.board.heartbeatOf('north')['note']).toBe('null');
    expect(await process.metrics.metrics()).toContain(`${valid} 1`);
    expect(process.lines.at(-1)).toContain('the configuration has been read again');
    const since = /^rollcall_configuration_timestamp_seconds (.+)$/m.exec(await process.metrics.metrics());
    expect(Number(since?.[1])).toBe(Date.now() / 1000);
  });

  it('is told from one that waits for a restart, which is valid', async () => {
    using process = watched();
    process.write(configOf(['north', 'south', 'east'], { http: { port: 1 } }));
    await vi.advanceTimersByTimeAsync(TAKEN_UP_AFTER_MS);
    expect(process.onChanged).toHaveBeenCalledOnce();
    expect(process.lines.join('')).toContain('"added":["east"]');
    expect(process.lines.join('')).toContain('another http.port');
    expect(await process.board.json()).toMatchObject({
      configuration: { isValid: true, note: { remedy: expect.stringContaining('Restart') as string } },
    });
    expect(await process.metrics.metrics()).toContain('rollcall_configuration_valid 1');
  });
});
