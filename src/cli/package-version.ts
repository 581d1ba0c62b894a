import manifest from '../../package.json' with { type: 'json' };

/** The version in package.json. */
export function packageVersion(): string {
  return manifest.version;
}
