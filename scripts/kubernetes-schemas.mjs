// Makes strict JSON schemas for kubeconform out of Kubernetes' own API description and the Prometheus Operator's CRDs,
// both of which are Go modules.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KUBERNETES = 'k8s.io/kubernetes@v1.36.3';
const OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const KINDS = new Set([
  'ConfigMap',
  'Service',
  'ServiceAccount',
  'Deployment',
  'Job',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'Ingress',
]);
const CUSTOM = ['podmonitors', 'prometheusrules'];

/** @typedef {Record<string, any>} Schema */

/** @typedef {(line: string) => void} Print */

/**
 * Has Go fetch the modules that the schemas are made of, or find that they are there. This needs no package of npm.
 *
 * @param {Print} print @returns {[string, string] | undefined} the folders of Kubernetes and of the Prometheus Operator
 */
export function fetchModules(print) {
  const [kubernetes, operator] = [moduleFolder(KUBERNETES), moduleFolder(OPERATOR)];
  if (kubernetes !== undefined && operator !== undefined) return [kubernetes, operator];
  print('the schemas of Kubernetes cannot be fetched: is Go installed, and its module proxy reachable?');
  return undefined;
}

/** @param {string} cache @param {Print} print @returns {Promise<string | undefined>} the folder */
export async function findSchemas(cache, print) {
  const folder = join(
    cache,
    `kubernetes-schemas-${KUBERNETES.split('@')[1]}-${OPERATOR.split('@')[1]}-${KINDS.size}`,
  );
  if (existsSync(folder) || !process.env.CI) return existsSync(folder) ? folder : undefined;
  const modules = fetchModules(print);
  if (modules === undefined) return undefined;
  const [kubernetes, operator] = modules;
  const work = mkdtempSync(join(cache, 'kubernetes-schemas-'));
  const write = (/** @type {string} */ name, /** @type {Schema} */ schema) =>
    writeFileSync(join(work, `${name.toLowerCase()}.json`), JSON.stringify(schema));
  for (const [name, schema] of [...builtIn(kubernetes), ...(await custom(operator))]) write(name, schema);
  // Another process may have been faster.
  if (existsSync(folder)) rmSync(work, { recursive: true });
  else renameSync(work, folder);
  return folder;
}

/** @param {string} module @returns {string | undefined} */
function moduleFolder(module) {
  const { status, stdout } = spawnSync('go', ['mod', 'download', '-json', module], {
    cwd: '/',
    encoding: 'utf8',
  });
  return status === 0 ? JSON.parse(stdout).Dir : undefined;
}

/** @param {string} folder @returns {[string, Schema][]} */
function builtIn(folder) {
  const text = readFileSync(join(folder, 'api', 'openapi-spec', 'swagger.json'), 'utf8');
  /** @type {Record<string, Schema>} */
  const definitions = JSON.parse(text).definitions;
  const strictOnes = Object.fromEntries(
    Object.entries(definitions).map(([name, schema]) => [name, strict(schema)]),
  );
  return Object.entries(definitions).flatMap(([name, schema]) =>
    (schema['x-kubernetes-group-version-kind'] ?? [])
      .filter((/** @type {Schema} */ { kind, version }) => KINDS.has(kind) && version === 'v1')
      .map((/** @type {Schema} */ { group, kind, version }) => [
        [kind, group.split('.')[0], version].filter((part) => part !== '').join('-'),
        { $ref: `#/definitions/${name}`, definitions: reachable(name, strictOnes) },
      ]),
  );
}

/** The definition and all that it refers to. @param {string} first @param {Record<string, Schema>} definitions */
function reachable(first, definitions) {
  /** @type {Record<string, Schema>} */
  const found = {};
  const visit = (/** @type {string} */ name) => {
    const schema = definitions[name];
    if (found[name] !== undefined || schema === undefined) return;
    found[name] = schema;
    for (const [, next = ''] of JSON.stringify(schema).matchAll(/#\/definitions\/([^"]+)/g)) visit(next);
  };
  visit(first);
  return found;
}

/** The folder of the Prometheus Operator's CRDs; undefined where Go cannot fetch them. */
export function findCrds() {
  const folder = moduleFolder(OPERATOR);
  return folder === undefined ? undefined : crdsIn(folder);
}

const crdsIn = (/** @type {string} */ folder) => join(folder, 'example', 'prometheus-operator-crd');

/** @param {string} folder @returns {Promise<[string, Schema][]>} */
async function custom(folder) {
  const { parse } = await import('yaml');
  return CUSTOM.map((name) => {
    const file = join(crdsIn(folder), `monitoring.coreos.com_${name}.yaml`);
    const { spec } = parse(readFileSync(file, 'utf8'));
    const version = spec.versions.find((/** @type {Schema} */ each) => each.name === 'v1');
    return [`${spec.names.kind}-monitoring-v1`, strict(version.schema.openAPIV3Schema)];
  });
}

/** Refuses unknown keys, which the API server only drops. @param {any} schema @returns {any} */
function strict(schema) {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  if (schema.format === 'int-or-string' || schema['x-kubernetes-int-or-string'] === true) {
    return { type: ['integer', 'string'] };
  }
  const entries = Object.entries(schema).map(([key, value]) => [key, strict(value)]);
  const isClosed = schema.properties !== undefined && schema.type !== undefined && !isOpen(schema);
  return { ...Object.fromEntries(entries), ...(isClosed ? { additionalProperties: false } : {}) };
}

/** @param {Schema} schema */
function isOpen(schema) {
  return schema.additionalProperties !== undefined || schema['x-kubernetes-preserve-unknown-fields'] === true;
}
