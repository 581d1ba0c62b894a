import { readFileSync } from 'node:fs';

/**
 * Runs `rollcall run` on a machine whose clock jumps: `clock-main.ts <config> <file>`; the file holds the offset of the clock
 * in ms, and may be rewritten at any time. Timers go on evenly, as they do when the clock of a machine is set.
 */

const [node = '', , configPath = '', clockFile = ''] = process.argv;
const CHECK_EVERY_MS = 20;

const RealDate = Date;
let offsetMs = 0;
let lookedAt = -Infinity;

function nowMs(): number {
  const at = performance.now();
  if (at - lookedAt > CHECK_EVERY_MS) {
    lookedAt = at;
    offsetMs = Number(readFileSync(clockFile, 'utf8')) || 0;
  }
  return RealDate.now() + offsetMs;
}

globalThis.Date = new Proxy(RealDate, {
  construct: (_, args: unknown[], target) =>
    Reflect.construct(RealDate, args.length === 0 ? [nowMs()] : args, target) as object,
  get: (target, name) => (name === 'now' ? nowMs : (Reflect.get(target, name) as unknown)),
});

process.argv = [node, 'rollcall', 'run', '--config', configPath];
await import('../../../src/main.ts');
