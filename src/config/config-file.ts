import { isDeepStrictEqual } from 'node:util';
import { loadConfig, type Config, type ConfigSources } from '../config.ts';
import { describeError, RollcallError } from '../errors.ts';
import { mapOf } from './problem.ts';
import { Secret } from './redacted-secret.ts';

/** What of a configuration is another one now; ids of tenants. */
export interface ConfigChange {
  readonly added: readonly string[];
  /** With another value of any setting but a secret, whose new value is sent from the next connection, token or request on. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** What the clients of a process are made of. A new key of pseudonyms changes every value, so it waits too. */
const AT_START = ['kafka', 'registry', 'redis', 'http', 'notify', 'pseudonymise'] as const;
const NOTHING: ConfigChange = { added: [], changed: [], removed: [] };

/** The configuration of a running process, which follows its file and those of `${file:/path}`. */
export class ConfigFile {
  /** In force: {@link changed} replaces its tenants and `deletions`. */
  readonly config: Config;
  /** When the configuration in force was read, ms since the epoch. */
  sinceMs = Date.now();
  /** Whether the file can be used. */
  isValid = true;
  /** In what the file differs from the configuration in force, for people. */
  note: { readonly why: string; readonly remedy: string } | null = null;
  readonly #sources: ConfigSources;
  /** By path, what has been read; null: it could not be. */
  readonly #contents = new Map<string, string | null>();

  /** Throws `CONFIG_INVALID`. */
  constructor(sources: ConfigSources) {
    this.#sources = sources;
    this.config = this.#read();
  }

  /** The texts of the file and of those that it names, as they are now. */
  get text(): string {
    return [...this.#contents.keys()].map((path) => this.#textOf(path)).join('\0');
  }

  /**
   * Takes up what the file, and those that it names, say by now; a file that is not valid changes nothing but the note.
   * Null: they say the same as at the last call.
   */
  changed(): ConfigChange | null {
    if ([...this.#contents].every(([path, text]) => this.#textOf(path) === text)) return null;
    try {
      const next = this.#read();
      const change = adopt(this.config, next);
      [this.sinceMs, this.isValid, this.note] = [Date.now(), true, noteOf(this.config, next)];
      return change;
    } catch (error) {
      const since = new Date(this.sinceMs).toISOString();
      const remedy = error instanceof RollcallError ? error.remedy : 'Correct the configuration.';
      const why = `the configuration on disk is not valid, and the process goes on with the one from ${since}: ${describeError(error)}`;
      this.note = { why: oneLine(why), remedy: oneLine(remedy) };
      this.isValid = false;
      return NOTHING;
    }
  }

  #read(): Config {
    this.#contents.clear();
    const readFile = (path: string): string => {
      this.#contents.set(path, null);
      const text = this.#sources.readFile(path);
      this.#contents.set(path, text);
      return text;
    };
    return loadConfig({ ...this.#sources, readFile });
  }

  #textOf(path: string): string | null {
    try {
      return this.#sources.readFile(path);
    } catch {
      return null;
    }
  }
}

/** A tenant without a change stays the object that its parts hold: the secrets in it are replaced there. */
function adopt(config: Config, next: Config): ConfigChange {
  const before = new Map(config.tenants.map((tenant) => [tenant.id, tenant]));
  const isSame = isDeepStrictEqual(config.deletions, next.deletions);
  config.tenants = next.tenants.map((tenant) => {
    const was = before.get(tenant.id);
    // Two secrets are equal to it whatever they hold.
    return was !== undefined && isSame && isDeepStrictEqual(was, tenant) ? was : tenant;
  });
  config.deletions = next.deletions;
  const secrets = secretsOf(config);
  // A new password of another user or server waits for a start, as those do.
  const waiting = AT_START.filter((part) => !isDeepStrictEqual(config[part], next[part]));
  for (const [path, secret] of secretsOf(next))
    if (!waiting.some((part) => path.startsWith(`/${part}/`))) secrets.get(path)?.replace(secret.reveal());
  // Without a key nothing has been pseudonymised so far.
  config.pseudonymise ??= next.pseudonymise;
  const after = new Map(config.tenants.map((tenant) => [tenant.id, tenant]));
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    changed: [...before.keys()].filter((id) => after.has(id) && after.get(id) !== before.get(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
  };
}

/** The secrets by their path, without the key of pseudonyms, which waits for a start. */
function secretsOf(config: Config): Map<string, Secret> {
  const found = new Map<string, Secret>();
  const visit = (value: unknown, path: string): void => {
    if (value instanceof Secret) found.set(path, value);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, child] of Object.entries(value)) visit(child, `${path}/${key}`);
    }
  };
  visit({ ...config, pseudonymise: undefined }, '');
  return found;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

function noteOf(config: Config, next: Config): ConfigFile['note'] {
  const valueOf = (value: unknown) => (value instanceof Secret ? value.reveal() : value);
  const settings = AT_START.flatMap((part) => {
    const [one, other] = [mapOf(config[part]), mapOf(next[part])];
    return Object.keys({ ...one, ...other })
      .filter((key) => !isDeepStrictEqual(valueOf(one[key]), valueOf(other[key])))
      .map((key) => `${part}.${key.replace(/Ms$/, '')}`);
  });
  if (settings.length === 0) return null;
  const why = `the configuration on disk has another ${settings.join(', ')}: the process goes on with what it started with`;
  return { why, remedy: 'Restart the process; in Kubernetes: "kubectl rollout restart".' };
}
