import { loadConfig, type Config } from '../../../src/config.ts';
import { RollcallError } from '../../../src/errors.ts';

/** Makes the smallest valid configuration, with places for additions. */
export function yamlWith(
  parts: { hub?: string; tenant?: string; kafka?: string; root?: string } = {},
): string {
  return [
    'tenants:',
    '  - id: north',
    '    hub:',
    '      baseUrl: "https://hub.example/north/"',
    '      tokenUrl: "https://id.example/token"',
    '      clientId: rollcall',
    '      clientSecret: "${HUB_SECRET}"',
    ...indented(parts.hub, 6),
    ...indented(parts.tenant, 4),
    'kafka:',
    '  brokers: ["localhost:9092"]',
    ...indented(parts.kafka, 2),
    'registry: { url: "http://localhost:8081" }',
    ...indented(parts.root, 0),
    '',
  ].join('\n');
}

/** A tenant as a configuration in JSON has it. */
export const tenantOf = (id: string, settings: object = {}, hub: object = {}) => {
  const baseUrl = `https://hub.example/${id}`;
  const own = { baseUrl, tokenUrl: 'https://id.example/token', clientId: 'rollcall', clientSecret: 's' };
  return { id, hub: { ...own, ...hub }, ...settings };
};

/** A configuration in JSON. */
export function jsonWith(tenants: readonly object[], settings: object = {}): string {
  const services = { kafka: { brokers: ['localhost:9092'] }, registry: { url: 'http://localhost:8081' } };
  return JSON.stringify({ tenants, ...services, ...settings });
}

function indented(text: string | undefined, spaces: number): string[] {
  return text === undefined ? [] : text.split('\n').map((line) => ' '.repeat(spaces) + line);
}

export function load(
  yaml: string,
  options: {
    env?: Record<string, string>;
    files?: Record<string, string>;
    without?: 'hub' | 'services';
  } = {},
): Config {
  const { files = {}, without } = options;
  return loadConfig({
    path: 'rollcall.yaml',
    without,
    env: options.env ?? { HUB_SECRET: 'hub-secret' },
    readFile: (path) => {
      const text = path === 'rollcall.yaml' ? yaml : files[path];
      if (text === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return text;
    },
  });
}

export const PEM = '-----BEGIN CERTIFICATE-----';

/** Loads a configuration with every variable set and every file readable: an address if it is named `url`, or a certificate. */
export function loadFilled(yaml: string, given: Record<string, string> = {}): Config {
  const valuesOf = (place: RegExp, valueOf: (name: string) => string) =>
    Object.fromEntries(Array.from(yaml.matchAll(place), ([, name = '']) => [name, valueOf(name)]));
  const env = valuesOf(/\$\{(\w+)\}/g, (name) => `${name}-0123456789`);
  const ofFile = (path: string) => (path.endsWith('/url') ? 'https://receiver.example' : PEM);
  return load(yaml, { env: { ...env, ...given }, files: valuesOf(/\$\{file:([^}]+)\}/g, ofFile) });
}

/** Gives the refusal of a configuration; fails if there is none, or if it is an unknown error. */
export function refusal(attempt: () => unknown): RollcallError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof RollcallError && error.code === 'CONFIG_INVALID') return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

export function refusalOf(yaml: string, options: Parameters<typeof load>[1] = {}): string {
  return refusal(() => load(yaml, options)).message;
}
