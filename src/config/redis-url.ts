import { z } from 'zod';
import { Secret } from './secret.ts';

/** The parts of a Redis address, so that the printable address contains no password. */
interface RedisAddress {
  /** Without user name and password. */
  readonly url: string;
  readonly username: string | undefined;
  readonly password: Secret | undefined;
}

function problemOf(value: string): string | null {
  if (!URL.canParse(value)) return 'is not an address: redis://host:6379 is expected';
  const url = new URL(value);
  if (!['redis:', 'rediss:'].includes(url.protocol)) return 'must begin with redis:// or rediss://';
  if (url.hostname === '') return 'names no host';
  if (!/^\/?\d{0,5}$/.test(url.pathname))
    return 'may have only a database number as its path, for example /0';
  if (/[?#]/.test(value)) return 'must not have a query (?) or fragment (#)';
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    return 'has a user name or password that is not percent-encoded';
  }
  return null;
}

function takeApart(value: string): RedisAddress {
  const url = new URL(value);
  const username = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  url.username = '';
  url.password = '';
  return {
    url: url.href,
    username: username === '' ? undefined : username,
    password: password === '' ? undefined : new Secret(password),
  };
}

/** A `redis://` or `rediss://` address; user name and password are separated from it. */
export function redisUrl() {
  return z
    .string({ error: 'must be text' })
    .superRefine((value, context) => {
      const problem = problemOf(value);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem, continue: false });
    })
    .transform(takeApart);
}
