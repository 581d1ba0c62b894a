import { Secret } from './redacted-secret.ts';

/**
 * How old the content of a file may be when a secret is used, and how often a running process looks at its configuration. A
 * Pod sees a changed Secret or ConfigMap after about a minute.
 */
export const RECHECK_AFTER_MS = 5_000;

type ReadFile = (path: string) => string;

/** The files that a configuration was read from: its own, and those of `${file:/path}`. */
export class FilledFiles {
  readonly #readFile: ReadFile;
  /** Null: it could not be read. */
  readonly #contents = new Map<string, string | null>();

  constructor(readFile: ReadFile) {
    this.#readFile = readFile;
  }

  /** Reads a file and remembers its content. Throws as `readFile` does. */
  readonly read: ReadFile = (path) => {
    this.#contents.set(path, null);
    const text = this.#readFile(path);
    this.#contents.set(path, text);
    return text;
  };

  /** Whether a file has another content now, or can be read no longer, or again. */
  haveChanged(): boolean {
    return [...this.#contents].some(([path, text]) => this.#textOf(path) !== text);
  }

  #textOf(path: string): string | null {
    try {
      return this.#readFile(path);
    } catch {
      return null;
    }
  }
}

/** A configuration that was read. */
export interface Reading<C extends object = object> {
  readonly config: C;
  readonly files: FilledFiles;
  /** Fills the same text with the files as they are now. Throws `CONFIG_INVALID`. */
  readonly fillAgain: () => Reading<C>;
}

/**
 * Makes the secrets of a running configuration follow their files, so that a rotated secret needs no restart: the next
 * connection, token or request uses it. While the files cannot be read, or would make no valid configuration, the last
 * values stay in use.
 *
 * `reading` is of the same text as the configuration, and its secrets have the newest values.
 */
export function followFiles(config: object, reading: Reading, now = () => performance.now()): void {
  const secrets = secretsOf(config);
  let { files } = reading;
  const take = (newest: Reading): void => {
    for (const [path, secret] of secretsOf(newest.config)) secrets.get(path)?.replace(secret.reveal());
    files = newest.files;
  };
  take(reading);
  let checkedAtMs = now();
  const update = (): void => {
    if (now() - checkedAtMs < RECHECK_AFTER_MS) return;
    checkedAtMs = now();
    try {
      if (files.haveChanged()) take(reading.fillAgain());
    } catch {
      // A file may be absent for a moment while it is replaced.
    }
  };
  for (const secret of secrets.values()) secret.follow(update);
}

/**
 * The secrets by their path, without the key of pseudonyms: a new one changes every published value, so it takes effect
 * at a start.
 */
function secretsOf(config: object): Map<string, Secret> {
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
