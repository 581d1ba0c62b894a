/** The sources of values for `${…}`. */
export interface FillSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the UTF-8 text of a file; throws as `node:fs` does. */
  readonly readFile: (path: string) => string;
}

/** A problem of a `${…}`. */
export interface FillProblem {
  /** The end of a sentence that begins with the path of the key: "is missing". */
  readonly message: string;
  /** The variable or file that has no value; left out if the problem is of another kind. */
  readonly needs?: { readonly kind: 'environment variable' | 'file'; readonly name: string };
}

const PLACEHOLDER = /\$\$\{|\$\{([^}]*)(\}?)/g;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Fills `${NAME}` from the environment and `${file:/path}` from a file. If a file ends with a line break, as editors
 * and Secrets often add one, this line break is left out. `$${` stands for `${`. It does not fill placeholders within
 * filled-in values.
 */
export function fillText(text: string, sources: FillSources): { text: string; problems: FillProblem[] } {
  const problems: FillProblem[] = [];
  const filled = text.replace(PLACEHOLDER, (placeholder: string, name: string | undefined, end: string) => {
    if (name === undefined) return '${';
    const found =
      end === ''
        ? { message: 'contains "${" without "}"; write "$${" for the characters themselves' }
        : lookUp(name, sources);
    if ('value' in found) return found.value;
    problems.push(found);
    return placeholder;
  });
  return { text: filled, problems };
}

function lookUp(name: string, sources: FillSources): { value: string } | FillProblem {
  if (name.startsWith('file:')) return readSecretFile(name.slice('file:'.length), sources);
  if (!NAME.test(name)) {
    return {
      message:
        'contains a "${…}" that is neither a variable\'s name nor file:/path; write "$${" for the characters themselves',
    };
  }
  // Object.hasOwn, because `${constructor}` is not a variable.
  const value = Object.hasOwn(sources.env, name) ? sources.env[name] : undefined;
  return value === undefined ? lacks('environment variable', name, 'is not set') : { value };
}

function readSecretFile(path: string, sources: FillSources): { value: string } | FillProblem {
  if (path === '') return { message: 'contains "${file:}" without a path' };
  try {
    return { value: sources.readFile(path).replace(/\r?\n$/, '') };
  } catch (error) {
    return lacks('file', path, `cannot be read (${errorCodeOf(error)})`);
  }
}

function lacks(kind: 'environment variable' | 'file', name: string, why: string): FillProblem {
  return { message: `needs the ${kind} ${name}, which ${why}`, needs: { kind, name } };
}

/** Returns the code of an error of `node:fs` (`ENOENT`), or the name of another error. */
export function errorCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
