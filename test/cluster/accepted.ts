import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, pathOf, type Answer, type Api, type Named } from './api.ts';
import { lostFields, type Findings } from './findings.ts';
import { CHART, objectsIn, type Helm } from './helm.ts';
import type { PodSpec } from './pod.ts';

/** Refuses unknown fields instead of dropping them, and stores nothing. */
const STRICTLY = '?dryRun=All&fieldValidation=Strict';

interface WithTemplate extends Named {
  readonly spec: { readonly template: { readonly metadata: Named['metadata']; readonly spec: PodSpec } };
}

/**
 * Offers what each set of values in `ci` renders, and the examples, to the API server, in a namespace that enforces the
 * `restricted` Pod Security Standard.
 */
export async function checkAccepted(api: Api, helm: Helm, namespace: string, found: Findings): Promise<void> {
  await checkTheCheck(api, namespace, found);
  for (const file of await yamlFiles(join(CHART, 'ci'))) {
    const { code, stdout, stderr } = await helm(
      'template',
      'rollcall',
      CHART,
      '--values',
      join(CHART, 'ci', file),
    );
    found.expect(code === 0, `ci/${file} is rendered`, stderr);
    await offerAll(api, namespace, objectsIn(stdout), `ci/${file}`, found);
  }
  for (const file of await yamlFiles(join(CHART, 'examples'))) {
    const text = await readFile(join(CHART, 'examples', file), 'utf8');
    await offerAll(api, namespace, objectsIn(text), `examples/${file}`, found);
  }
}

/** Proves that the API server refuses here what it is to refuse. */
async function checkTheCheck(api: Api, namespace: string, found: Findings): Promise<void> {
  const named = { apiVersion: 'v1', metadata: { name: 'wrong' } };
  const misspelt = await offer(api, namespace, { ...named, kind: 'ConfigMap', dat: {} } as Named);
  found.expect(misspelt.status === 400, 'a misspelt field is refused', messageOf(misspelt));
  const spec = { containers: [{ name: 'wrong', image: 'wrong' }] };
  const open = await offer(api, namespace, { ...named, kind: 'Pod', spec } as Named);
  found.expect(open.status === 403, 'a Pod that is not restricted is refused', messageOf(open));
}

async function offerAll(
  api: Api,
  namespace: string,
  objects: readonly Named[],
  source: string,
  found: Findings,
): Promise<void> {
  const problems: string[] = [];
  for (const object of objects) {
    problems.push(...problemsOf(object, await offer(api, namespace, object)));
    if (!hasTemplate(object)) continue;
    const pod = podOf(object);
    problems.push(...problemsOf(pod, await offer(api, namespace, pod)));
  }
  const kinds = [...new Set(objects.map(({ kind }) => kind))].toSorted().join(', ');
  found.expect(
    objects.length > 0 && problems.length === 0,
    `${source}: ${objects.length} objects and their Pods are accepted as they are (${kinds})`,
    problems.join('; '),
  );
}

const offer = (api: Api, namespace: string, object: Named): Promise<Answer> =>
  api.send('POST', `${pathOf(object, namespace)}${STRICTLY}`, {
    ...object,
    metadata: { ...object.metadata, namespace },
  });

function problemsOf(object: Named, answer: Answer): readonly string[] {
  const name = `${object.kind} ${object.metadata.name}`;
  if (answer.status !== 201) return [`${name} is refused (${answer.status}): ${messageOf(answer)}`];
  const { namespace: _, ...metadata } = object.metadata;
  return [
    ...answer.warnings.map((warning) => `${name}: ${warning}`),
    ...lostFields({ ...object, metadata }, answer.body).map((path) => `${name}: ${path} is not kept`),
  ];
}

const hasTemplate = (object: Named): object is WithTemplate =>
  object.kind === 'Deployment' || object.kind === 'Job';

/** The Pod that the controllers would make, as the ServiceAccount that every namespace has: the chart's is not stored. */
function podOf({ metadata: { name }, spec: { template } }: WithTemplate): Named {
  const spec = { ...template.spec, serviceAccountName: 'default' };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name }, spec } as Named;
}

const yamlFiles = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith('.yaml')).toSorted();
