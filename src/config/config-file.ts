import { isDeepStrictEqual } from 'node:util';
import { readConfig, type Config, type ConfigSources } from '../config.ts';
import { describeError, RollcallError } from '../errors.ts';
import { FilledFiles, followFiles } from './follow-files.ts';
import { mapOf } from './problem.ts';
import { Secret } from './redacted-secret.ts';

/** What of a configuration is another one now; ids of tenants. */
export interface ConfigChange {
  readonly added: readonly string[];
  /** With another value of any setting but a secret, which a tenant that runs takes up at its next use. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** What the clients of a process are made of. A new key of pseudonyms changes every value, so it waits too. */
const AT_START = ['kafka', 'registry', 'redis', 'http', 'pseudonymise'] as const;
const NOTHING: ConfigChange = { added: [], changed: [], removed: [] };

/** The configuration of a running process, which follows its file. */
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
  #files: FilledFiles;

  /** Throws `CONFIG_INVALID`. */
  constructor(sources: ConfigSources) {
    this.#sources = sources;
    this.#files = new FilledFiles(sources.readFile);
    const reading = readConfig(sources, this.#files);
    this.config = reading.config;
    followFiles(this.config, reading, sources.now);
  }

  /** The text of the file; null where it cannot be read. */
  get text(): string | null {
    try {
      return this.#sources.readFile(this.#sources.path);
    } catch {
      return null;
    }
  }

  /**
   * Takes up what the file, and those that it names, say by now; a file that is not valid changes nothing but the note.
   * Null: they say the same as at the last call.
   */
  changed(): ConfigChange | null {
    if (!this.#files.haveChanged()) return null;
    this.#files = new FilledFiles(this.#sources.readFile);
    try {
      const reading = readConfig(this.#sources, this.#files);
      const change = adopt(this.config, reading.config);
      followFiles(this.config, reading, this.#sources.now);
      [this.sinceMs, this.isValid, this.note] = [Date.now(), true, noteOf(this.config, reading.config)];
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
  // Without a key nothing has been pseudonymised so far.
  config.pseudonymise ??= next.pseudonymise;
  const after = new Map(config.tenants.map((tenant) => [tenant.id, tenant]));
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    changed: [...before.keys()].filter((id) => after.has(id) && after.get(id) !== before.get(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
  };
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
