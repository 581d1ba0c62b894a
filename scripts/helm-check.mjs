// Lints and renders the Helm chart, and checks what it renders against Kubernetes' own schemas, strictly. Helm comes from
// the PATH or the cache, kubeconform and the schemas from the cache; in CI Go builds them once, if Go is installed.
//   node scripts/helm-check.mjs [--fetch-only]
// --fetch-only also works before "npm ci": what needs a package of npm is imported where it is used.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { findBuilt, findHelm } from './go-programs.mjs';
import { fetchModules, findSchemas } from './kubernetes-schemas.mjs';
import { cache, checkout } from './setup.mjs';

const chart = join(checkout, 'helm', 'rollcall');

const print = (/** @type {string} */ line) => process.stdout.write(`helm: ${line}\n`);

/** @param {string} helm @param {Kubeconform | undefined} kubeconform */
async function checkChart(helm, kubeconform) {
  if (!existsSync(join(chart, 'Chart.yaml'))) {
    print('helm/rollcall/Chart.yaml is missing');
    return false;
  }
  const accepted = yamlFiles(join(chart, 'ci'));
  const refused = yamlFiles(join(chart, 'ci', 'refused'));
  const problems = [
    ...accepted.flatMap((values) => [
      isAccepted(helm, ['lint', '--strict', '--quiet', chart, '--values', values]),
      isAccepted(helm, ['template', 'rollcall', chart, '--values', values]),
    ]),
    ...refused.map((values) => isRefused(helm, values)),
    ...restartProblems(helm),
    ...(await estateProblems(helm)),
    ...(await ruleProblems(helm)),
    ...(kubeconform === undefined ? [] : strictProblems(helm, kubeconform, accepted)),
  ].filter((problem) => problem !== undefined);
  if (accepted.length === 0) problems.push('helm/rollcall/ci has no values to check the chart with');
  for (const problem of problems) print(problem);
  print(
    `${accepted.length} sets of values linted and rendered, ${refused.length} expected to be refused, ${problems.length} problems`,
  );
  return problems.length === 0;
}

/** @typedef {{ program: string, schemas: string }} Kubeconform */

/** @param {string} helm @param {Kubeconform} kubeconform @param {string[]} accepted */
function strictProblems(helm, kubeconform, accepted) {
  const examples = yamlFiles(join(chart, 'examples'));
  if (examples.length === 0) return ['helm/rollcall/examples has no manifests to check'];
  return [
    ...accepted.flatMap((values) => {
      const args = ['template', 'rollcall', chart, '--values', values];
      return isStrict(kubeconform, values, spawnSync(helm, args, { encoding: 'utf8' }).stdout);
    }),
    ...examples.flatMap((file) => isStrict(kubeconform, file, readFileSync(file, 'utf8'))),
  ];
}

/** Checks a manifest, and that the check would find a misspelt key. */
function isStrict(
  /** @type {Kubeconform} */ { program, schemas },
  /** @type {string} */ source,
  /** @type {string} */ manifest,
) {
  const location = join(schemas, '{{.ResourceKind}}{{.KindSuffix}}.json');
  const validate = (/** @type {string} */ input) =>
    spawnSync(program, ['-strict', '-schema-location', location, '-'], { input, encoding: 'utf8' });
  const right = validate(manifest);
  const wrong = validate(manifest.replace('image:', 'imag:'));
  return [
    ...(right.status === 0
      ? []
      : [`${source} has what Kubernetes does not know:\n${right.stdout}${right.stderr}`]),
    ...(wrong.status === 0 ? [`${source}: a misspelt key passes the check`] : []),
  ];
}

/** @param {string} folder */
function yamlFiles(folder) {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith('.yaml')).map((name) => join(folder, name));
}

/** @param {string} helm @param {string[]} args */
function isAccepted(helm, args) {
  const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8' });
  return status === 0 ? undefined : `helm ${args.join(' ')} failed:\n${stdout}${stderr}`;
}

/** Adds values to the minimal ones; their first line, `# refused: <words>`, is what the refusal must contain. @param {string} helm @param {string} values */
function isRefused(helm, values) {
  const reason = /^# refused: (.+)$/m.exec(readFileSync(values, 'utf8'))?.[1] ?? '# refused: is missing';
  const args = ['--values', join(chart, 'ci', 'minimal-values.yaml'), '--values', values];
  const { status, stderr } = spawnSync(helm, ['template', 'rollcall', chart, ...args], { encoding: 'utf8' });
  if (status !== 0 && stderr.includes(reason)) return undefined;
  return `${values} must be refused for "${reason}", but helm template ${status === 0 ? 'accepted it' : `answered: ${stderr.trim()}`}`;
}

/** A change restarts the Pods if, and only if, a running process does not follow it. @param {string} helm */
function restartProblems(helm) {
  const values = join(chart, 'ci', 'full-values.yaml');
  const checksumWith = (/** @type {string[]} */ ...args) => {
    const all = ['template', 'rollcall', chart, '--values', values, ...args];
    return /checksum\/config: (\w+)/.exec(spawnSync(helm, all, { encoding: 'utf8' }).stdout)?.[1];
  };
  const before = checksumWith();
  const problems = before === undefined ? ['the Pods have no checksum of the configuration'] : [];
  for (const change of ['tenants[0].incrementalEvery=7m', 'deletions.confirmAfter=7m'])
    if (checksumWith('--set', `config.${change}`) !== before)
      problems.push(`config.${change} restarts the Pods`);
  for (const change of ['kafka.session=7s', 'tenants[0].hub.clientSecret=${ANOTHER}'])
    if (checksumWith('--set', `config.${change}`) === before)
      problems.push(`config.${change} restarts no Pod`);
  return problems;
}

/**
 * Each metric in a rendered rule is selected by the namespace and the job of the release; those about owners by the namespace alone,
 * because releases with one prefix share their tenants. @param {string} helm
 */
async function ruleProblems(helm) {
  const { parseAllDocuments } = await import('yaml');
  const args = ['template', 'rollcall', chart, '--values', join(chart, 'ci', 'full-values.yaml')];
  const { stdout } = spawnSync(helm, args, { encoding: 'utf8' });
  const objects = parseAllDocuments(stdout).flatMap((each) => each.toJS() ?? []);
  const groups = objects.find(({ kind }) => kind === 'PrometheusRule')?.spec.groups ?? [];
  const rules = groups.flatMap((/** @type {any} */ group) => group.rules);
  const ofRelease = /\{namespace="default", job="default\/[\w-]+"[^{}]*\}$/;
  const ofNamespace = /\{namespace="default"(?!, job)[^{}]*\}$/;
  if (rules.length === 0) return ['full-values.yaml renders no rule'];
  return rules.flatMap((/** @type {{ alert: string, expr: string }} */ { alert, expr }) => {
    const wanted = alert.startsWith('RollcallOwner') ? ofNamespace : ofRelease;
    return (expr.match(/(absent\()?\brollcall_\w+(\{[^}]*\})*/g) ?? [])
      .filter((metric) => !(metric.startsWith('absent') ? ofRelease : wanted).test(metric))
      .map((metric) => `${alert} asks for ${metric}, which other releases have, too, or too few have`);
  });
}

/**
 * What the values add for an organisation's own rules (labels, containers, Secrets) reaches the objects that it is
 * meant for, and no others. @param {string} helm
 */
async function estateProblems(helm) {
  const { parseAllDocuments } = await import('yaml');
  const args = ['template', 'rollcall', chart, '--values', join(chart, 'ci', 'estate-values.yaml')];
  const { stdout } = spawnSync(helm, args, { encoding: 'utf8' });
  const objects = parseAllDocuments(stdout).flatMap((each) => each.toJS() ?? []);
  const own = objects.filter(({ metadata }) => metadata.labels !== undefined);
  const deployment = objects.find(({ kind }) => kind === 'Deployment');
  const jobs = objects.filter(({ kind }) => kind === 'Job');
  if (deployment === undefined || jobs.length !== 2)
    return ['estate-values.yaml renders no Deployment and two Jobs'];
  const pods = [deployment, ...jobs].map(({ spec }) => spec.template.spec);
  const names = (/** @type {{ name: string }[]} */ some) => some.map(({ name }) => name).join(' ');
  const secretsOf = (/** @type {any} */ pod) =>
    (pod.containers[0].envFrom ?? []).map((/** @type {any} */ { secretRef }) => secretRef.name).join(' ');
  const paths = (/** @type {any} */ { containers }) =>
    containers[0].volumeMounts.map((/** @type {any} */ { mountPath }) => mountPath).join(' ');
  const folders = ['config', 'secrets/north', 'secrets/kafka-tls']
    .map((each) => `/etc/rollcall/${each}`)
    .join(' ');
  /** @type {[string, string | number, string | number][]} */
  const facts = [
    [
      'objects with the common label',
      own.filter(({ metadata }) => metadata.labels['example.org/cost-centre'] === '4711').length,
      own.length,
    ],
    [
      'objects with the common annotation',
      own.filter(({ metadata }) => metadata.annotations?.['example.org/contact'] === 'operators').length,
      own.length,
    ],
    [
      'the name that selects Pods',
      deployment.spec.selector.matchLabels['app.kubernetes.io/name'],
      'rollcall',
    ],
    ['the name of the Pods', deployment.spec.template.metadata.labels['app.kubernetes.io/name'], 'rollcall'],
    [
      'containers of each Pod',
      pods.map(({ containers }) => names(containers)).join(', '),
      'rollcall ship-logs, rollcall, rollcall',
    ],
    [
      'init containers of each Pod',
      pods.map((pod) => names(pod.initContainers)).join(', '),
      'fetch-ca, fetch-ca, fetch-ca',
    ],
    [
      'Secrets of each Pod',
      pods
        .map(secretsOf)
        .toSorted((one, other) => one.localeCompare(other))
        .join(', '),
      'rollcall, rollcall, rollcall rollcall-admin',
    ],
    ['folders of each Pod', pods.map(paths).join(', '), [folders, folders, folders].join(', ')],
    [
      'objects of the estate',
      names(objects.filter(({ metadata }) => metadata.labels === undefined).map(({ metadata }) => metadata)),
      'rollcall-notes rollcall-page',
    ],
  ];
  return [...facts, ...jobFacts(jobs)].flatMap(([what, is, expected]) =>
    is === expected ? [] : [`${what}: ${is}, and not ${expected}`],
  );
}

/** What each Job runs, when Helm runs it, and how long its log stays. @param {any[]} jobs @returns {[string, string, string][]} */
function jobFacts(jobs) {
  const argsOf = (/** @type {any} */ { spec }) =>
    spec.template.spec.containers.find((/** @type {any} */ { name }) => name === 'rollcall').args.join(' ');
  return [
    ['commands of the Jobs', jobs.map(argsOf).join(', '), 'check, topics apply'],
    [
      'hooks of the Jobs',
      jobs.map(({ metadata }) => metadata.annotations['helm.sh/hook']).join(', '),
      'test, pre-install,pre-upgrade',
    ],
    [
      'seconds for which finished Jobs stay',
      jobs.map(({ spec }) => spec.ttlSecondsAfterFinished).join(', '),
      '86400, 86400',
    ],
  ];
}

const helm = await findHelm(print);
const program = await findBuilt('kubeconform', 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0', print);
if (process.argv.includes('--fetch-only')) {
  process.exitCode = helm !== undefined && program !== undefined && fetchModules(print) ? 0 : 1;
} else if (helm === undefined) {
  print('**************************************************************************************');
  print('SKIPPED: the chart was NOT linted and NOT rendered. There is no helm in the PATH.');
  print('Install Helm 3; or, with Go installed, CI=1 npm run check:helm builds it once (minutes).');
  print('**************************************************************************************');
} else {
  const schemas = await findSchemas(cache, print);
  const kubeconform = program === undefined || schemas === undefined ? undefined : { program, schemas };
  if (kubeconform === undefined)
    print('the strict check is SKIPPED: with Go installed, CI=1 npm run check:helm fetches what it needs');
  process.exitCode = (await checkChart(helm, kubeconform)) ? 0 : 1;
}
