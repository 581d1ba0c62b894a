import { isDeepStrictEqual } from 'node:util';
import { loadConfig, type Config, type ConfigSources } from '../config.ts';
import { describeError, RollcallError } from '../errors.ts';
import { mapOf } from './problem.ts';
import { Secret } from './redacted-secret.ts';

/** The ids of the tenants that a change of the configuration concerns. */
export interface ConfigChange {
  readonly added: readonly string[];
  /** Tenants with a changed setting. A new secret does not count: the next connection, token or request uses it. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Settings that change only at a restart: those of the clients of the process, and the key of pseudonyms, because a new
 * key changes every value.
 */
const AT_START = ['kafka', 'registry', 'redis', 'http', 'notify', 'pseudonymise'] as const;
const NOTHING: ConfigChange = { added: [], changed: [], removed: [] };

/** The configuration of a running process, which follows its file and those of `${file:/path}`. */
export class RunningConfig {
  /**
   * The configuration in force. {@link changed} replaces its tenants, its `deletions` and its secrets. It also adds the
   * key of pseudonyms if there was none.
   */
  readonly config: Config;
  /** When the configuration in force was read, ms since the epoch. */
  sinceMs = Date.now();
  /** Whether the file can be used. */
  isValid = true;
  /** How the file differs from the configuration in force, for people. */
  note: { readonly why: string; readonly remedy: string } | null = null;
  readonly #sources: ConfigSources;
  /** The text of each file that was read, by its path; null: it could not be read. */
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
   * Reads the file, and those that it names, again, and applies what has changed. If the file is not valid, only `note`
   * and `isValid` change. Null: the texts are those of the last call.
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

/**
 * Puts the new tenants into the configuration in force. A tenant that has not changed stays the same object, because
 * its parts hold this object; only its secrets are replaced.
 */
function adopt(config: Config, next: Config): ConfigChange {
  const before = new Map(config.tenants.map((tenant) => [tenant.id, tenant]));
  // A change of `deletions` counts as a change of every tenant.
  const areDeletionsSame = isDeepStrictEqual(config.deletions, next.deletions);
  config.tenants = next.tenants.map((tenant) => {
    const was = before.get(tenant.id);
    // For isDeepStrictEqual two secrets are equal, whatever they hold.
    return was !== undefined && areDeletionsSame && isDeepStrictEqual(was, tenant) ? was : tenant;
  });
  config.deletions = next.deletions;
  replaceSecrets(config, next);
  // Without a key nothing has been pseudonymised so far.
  config.pseudonymise ??= next.pseudonymise;
  const after = new Map(config.tenants.map((tenant) => [tenant.id, tenant]));
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    changed: [...before.keys()].filter((id) => after.has(id) && after.get(id) !== before.get(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
  };
}

function replaceSecrets(config: Config, next: Config): void {
  const secrets = secretsOf(config);
  // If the user or the server of a service has changed, its new password waits for a restart, too.
  const waiting = AT_START.filter((part) => !isDeepStrictEqual(config[part], next[part]));
  for (const [path, secret] of secretsOf(next))
    if (!waiting.some((part) => path.startsWith(`/${part}/`))) secrets.get(path)?.replace(secret.reveal());
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

function noteOf(config: Config, next: Config): RunningConfig['note'] {
  const valueOf = (value: unknown) => (value instanceof Secret ? value.reveal() : value);
  const settings = AT_START.flatMap((part) => {
    const [one, other] = [mapOf(config[part]), mapOf(next[part])];
    return Object.keys({ ...one, ...other })
      .filter((key) => !isDeepStrictEqual(valueOf(one[key]), valueOf(other[key])))
      .map((key) => `${part}.${key.replace(/Ms$/, '')}`);
  });
  if (settings.length === 0) return null;
  const why = `the configuration on disk differs in ${settings.join(', ')}: the process goes on with what it read when it started`;
  return { why, remedy: 'Restart the process; in Kubernetes: "kubectl rollout restart".' };
}
