import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, pathOf, type Api, type Named } from './api.ts';
import type { Expect } from './expect.ts';
import { CHART, objectsIn, yamlFiles, type Helm } from './helm.ts';

/** Refuses unknown fields instead of dropping them, and stores nothing. */
const STRICTLY = '?dryRun=All&fieldValidation=Strict';

/**
 * Offers what each set of values in `ci` renders, and the examples, to the API server, in a namespace that enforces the
 * `restricted` Pod Security Standard, and warns of what would make Pods that it refuses.
 */
export async function checkAccepted(api: Api, helm: Helm, namespace: string, expect: Expect): Promise<void> {
  const offer = async (object: object): Promise<string> => {
    const { metadata, ...kind } = object as Named;
    const named = { ...object, metadata: { ...metadata, namespace } };
    const answer = await api.send('POST', `${pathOf(kind, namespace)}${STRICTLY}`, named);
    const refusal = answer.status === 201 ? [] : [`${answer.status} ${messageOf(answer)}`];
    return [...refusal, ...answer.warnings].map((why) => `${metadata.name}: ${why}`).join('; ');
  };
  const named = { apiVersion: 'v1', metadata: { name: 'wrong' } };
  const misspelt = await offer({ ...named, kind: 'ConfigMap', dat: {} });
  expect(misspelt.includes('400'), 'a misspelt field is refused', misspelt);
  const labels = { app: 'wrong' };
  const spec = { containers: [{ name: 'wrong', image: 'wrong' }] };
  const open = await offer({
    ...named,
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
  expect(open.includes('would violate PodSecurity'), 'Pods that are not restricted are warned of', open);

  const sources = [...(await yamlFiles('ci')), ...(await yamlFiles('examples'))];
  for (const file of sources) {
    const path = join(CHART, file);
    const text = file.startsWith('ci/')
      ? (await helm('template', 'rollcall', CHART, '--values', path)).stdout
      : await readFile(path, 'utf8');
    const objects = objectsIn(text);
    const problems = (await Promise.all(objects.map(offer))).filter((each) => each !== '');
    const isGood = objects.length > 0 && problems.length === 0;
    expect(isGood, `${file}: ${objects.length} objects are accepted without a warning`, problems.join('; '));
  }
}
