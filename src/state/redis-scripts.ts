import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A Lua script. The head of its file documents its effect, keys, arguments and output. */
export interface RedisScript {
  readonly source: string;
  readonly sha1: string;
}

function load(name: string): RedisScript {
  const source = readFileSync(new URL(`scripts/${name}.lua`, import.meta.url), 'utf8');
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

export const SCRIPTS = {
  writeIndex: load('write-index'),
  beginReplay: load('begin-replay'),
  probe: load('probe'),
  announceOwner: load('announce-owner'),
  withdrawOwner: load('withdraw-owner'),
} as const;
