import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { yamlWith } from '../config/config-text.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/rollcall.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'rollcall-waiting-'));
const sockets = new Set<Socket>();
/** A broker that takes connections and never answers. */
const broker = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
let address = '';

beforeAll(async () => {
  broker.listen(0, '127.0.0.1');
  await once(broker, 'listening');
  address = `127.0.0.1:${(broker.address() as AddressInfo).port}`;
  // Nothing listens on port 9.
  const yaml = yamlWith({ root: 'redis: { url: "redis://127.0.0.1:9" }' }).replace('localhost:9092', address);
  writeFileSync(join(folder, 'rollcall.yaml'), yaml);
});
afterAll(() => {
  broker.close();
  for (const socket of sockets) socket.destroy();
  rmSync(folder, { recursive: true });
});

/** Runs a verb until stderr has said something, then stops it; returns the exit code and stderr. */
async function stoppedOnceItSpoke(...args: readonly string[]): Promise<{ code: unknown; said: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (said === '') child.kill('SIGTERM');
    said += text;
  });
  const [code] = (await exited) as unknown[];
  return { code, said };
}

it('a verb that waits for Kafka says so, and when it is stopped it ends with 1', async () => {
  const { code, said } = await stoppedOnceItSpoke('status');
  expect(said).toBe(`Kafka (${address}) has not answered yet; still trying.\n✗ stopped before it was done\n`);
  expect(code).toBe(1);
});
