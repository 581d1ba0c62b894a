import { Secret } from './redacted-secret.ts';

/** How old the content of a file may be when a secret is used. A Pod sees a changed Secret after about a minute. */
const RECHECK_AFTER_MS = 10_000;

type ReadFile = (path: string) => string;

/** The files that a configuration was filled from. */
export class FilledFiles {
  readonly #readFile: ReadFile;
  #contents = new Map<string, string>();

  constructor(readFile: ReadFile) {
    this.#readFile = readFile;
  }

  /** Reads a file and remembers its content. */
  readonly read: ReadFile = (path) => {
    const text = this.#readFile(path);
    this.#contents.set(path, text);
    return text;
  };

  /** Whether a file has another content now. Throws when one cannot be read. */
  haveChanged(): boolean {
    return [...this.#contents].some(([path, text]) => this.#readFile(path) !== text);
  }

  /** Remembers the content that another reading of the same configuration found. */
  become(other: FilledFiles): void {
    this.#contents = other.#contents;
  }
}

/**
 * Makes the secrets of a running configuration follow their files, so that a rotated secret needs no restart: the next
 * connection, token or request uses it. While the files cannot be read, or would make no valid configuration, the last
 * values stay in use.
 *
 * `readAgain` parses the same text of the configuration with the files as they are now.
 */
export function followFiles(
  config: object,
  options: { files: FilledFiles; readAgain: () => { config: object; files: FilledFiles }; now: () => number },
): void {
  const { files, readAgain, now } = options;
  const secrets = secretsOf(config);
  let checkedAtMs = now();
  const update = (): void => {
    if (now() - checkedAtMs < RECHECK_AFTER_MS) return;
    checkedAtMs = now();
    try {
      if (!files.haveChanged()) return;
      const again = readAgain();
      for (const [path, secret] of secretsOf(again.config)) secrets.get(path)?.replace(secret.reveal());
      files.become(again.files);
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
