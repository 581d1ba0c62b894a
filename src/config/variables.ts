/** The sources of values for `${…}`. */
export interface FillSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the UTF-8 text of a file; throws as `node:fs` does. */
  readonly readFile: (path: string) => string;
}

export interface Filled {
  readonly text: string;
  /** Each is the end of a sentence that begins with the key. */
  readonly problems: readonly string[];
}

const PLACEHOLDER = /\$\$\{|\$\{([^}]*)(\}?)/g;
/** The problem of a variable or file without a value. The group has its name. */
export const NEEDS = /^needs (the environment variable \w+|the file .*), which /;
/** Begins the problem of a variable without a value. */
export const NEEDS_VARIABLE = 'needs the environment variable';
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Fills `${NAME}` from the environment and `${file:/path}` from a file, without one line break at its end, which editors
 * and Secrets add. `$${` stands for `${`. It does not fill placeholders within filled-in values.
 */
export function fillText(text: string, sources: FillSources): Filled {
  const problems: string[] = [];
  const filled = text.replace(PLACEHOLDER, (placeholder: string, name: string | undefined, end: string) => {
    if (name === undefined) return '${';
    const found =
      end === ''
        ? { problem: 'contains "${" without "}"; write "$${" for the characters themselves' }
        : lookUp(name, sources);
    if ('value' in found) return found.value;
    problems.push(found.problem);
    return placeholder;
  });
  return { text: filled, problems };
}

function lookUp(name: string, sources: FillSources): { value: string } | { problem: string } {
  if (name.startsWith('file:')) return readSecretFile(name.slice('file:'.length), sources);
  if (!NAME.test(name)) {
    return {
      problem:
        'contains a "${…}" that is neither a variable\'s name nor file:/path; write "$${" for the characters themselves',
    };
  }
  // Object.hasOwn, because `${constructor}` is not a variable.
  const value = Object.hasOwn(sources.env, name) ? sources.env[name] : undefined;
  return value === undefined ? { problem: `${NEEDS_VARIABLE} ${name}, which is not set` } : { value };
}

function readSecretFile(path: string, sources: FillSources): { value: string } | { problem: string } {
  if (path === '') return { problem: 'contains "${file:}" without a path' };
  try {
    return { value: sources.readFile(path).replace(/\r?\n$/, '') };
  } catch (error) {
    return { problem: `needs the file ${path}, which cannot be read (${errorCodeOf(error)})` };
  }
}

/** Returns the code of an error of `node:fs` (`ENOENT`), or the name of another error. */
export function errorCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
