// The steps of a release; .github/workflows/release.yml calls them, and so can a person.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { findHelm } from './go-programs.mjs';

const USAGE = `npm run -s release -- <step>
  prepare <version>      writes the version into package.json, its lock file and the chart, and dates the changelog
  verify [tag]           fails where package.json, lock file, chart, changelog and tag do not name the same version
  notes                  prints what the changelog says about this version
  sbom                   prints the parts of the image (CycloneDX)
  image <repository>     builds the image and pushes it; prints digest=sha256:…
  chart <oci://…>        packages the chart and pushes it; prints digest=sha256:…
  package                publishes the npm package, unless it is published already
Further arguments go to docker build, helm push and npm publish.
`;

const checkout = join(import.meta.dirname, '..');
const CHART = 'helm/rollcall/Chart.yaml';
const NEWEST = /^## \[(.+?)\].*$/m;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly repository?: { readonly url: string };
}

class Refused extends Error {}

const read = (file: string) => readFileSync(join(checkout, file), 'utf8');
const readManifest = () => JSON.parse(read('package.json')) as Manifest;

/** The newest version of a changelog; `Unreleased` where changes wait for one. */
export function newestVersion(changelog: string): string | undefined {
  return NEWEST.exec(changelog)?.[1];
}

/** What a changelog says about a version, without the heading. */
export function releaseNotes(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## \[)/m);
  const section = sections.find((text) => text.startsWith(`## [${version}]`));
  const notes = section?.slice(section.indexOf('\n')).trim() ?? '';
  if (notes === '') throw new Refused(`CHANGELOG.md says nothing about ${version}`);
  return notes;
}

/** The changelog in which the unreleased changes are those of a version. @param day `YYYY-MM-DD` */
export function datedChangelog(changelog: string, version: string, day: string): string {
  if (newestVersion(changelog) !== 'Unreleased')
    throw new Refused('CHANGELOG.md does not begin with [Unreleased]');
  return changelog.replace(NEWEST, `## [${version}] - ${day}`);
}

/** One line for each place that names a different version from the one in `package.json`. */
export function disagreements(named: Readonly<Record<string, string | undefined>>): string[] {
  const version = named['package.json'];
  return Object.entries(named)
    .filter(([, other]) => other !== version)
    .map(([place, other]) => `${place} names ${other ?? 'no version'}, package.json ${version}`);
}

/** Runs a command, all of whose output goes to stderr. */
function run(command: string, args: readonly string[]): void {
  // "npm run --silent" would silence the npm called here, too, and so its reasons
  const env = { ...process.env, npm_config_loglevel: 'notice' };
  execFileSync(command, args, { cwd: checkout, env, stdio: ['ignore', 2, 2] });
}

/** Runs a command that pushes, and prints the digest that it reports. */
function push(command: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  const output = stdout + stderr;
  process.stderr.write(output);
  const digest = /digest: (sha256:[0-9a-f]{64})/i.exec(output)?.[1];
  if (status !== 0 || digest === undefined) throw new Refused(`${command} ${args[0]} pushed nothing`);
  process.stdout.write(`digest=${digest}\n`);
}

function prepare(version = ''): void {
  const changelog = datedChangelog(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10));
  run('npm', ['version', version, '--no-git-tag-version', '--allow-same-version', '--ignore-scripts']);
  const chart = read(CHART)
    .replace(/^version: .*$/m, `version: ${version}`)
    .replace(/^appVersion: .*$/m, `appVersion: "${version}"`);
  writeFileSync(join(checkout, CHART), chart);
  writeFileSync(join(checkout, 'CHANGELOG.md'), changelog);
}

function verify(tag?: string): void {
  const { version, repository } = readManifest();
  const chart = parse(read(CHART)) as { version: string; appVersion: string };
  const problems = disagreements({
    'package.json': version,
    'package-lock.json': (JSON.parse(read('package-lock.json')) as Manifest).version,
    'version of the chart': chart.version,
    'appVersion of the chart': chart.appVersion,
    'the newest heading of CHANGELOG.md': newestVersion(read('CHANGELOG.md')),
    ...(tag === undefined ? {} : { 'the tag': tag.replace(/^v/, '') }),
  });
  // npm publishes no provenance for a package that names another repository, and says so at the very end
  const here = process.env['GITHUB_REPOSITORY'];
  if (here !== undefined && !repository?.url.includes(here))
    problems.push(`package.json does not name the repository ${here}`);
  if (problems.length > 0) throw new Refused(problems.join('\n'));
  process.stderr.write(`All name ${version}.\n`);
}

function printSbom(): void {
  const args = ['sbom', '--omit=dev', '--package-lock-only', '--sbom-format=cyclonedx'];
  process.stdout.write(execFileSync('npm', args, { cwd: checkout }));
}

function pushImage(repository: string, args: readonly string[]): void {
  const image = `${repository.toLowerCase()}:${readManifest().version}`;
  run('docker', ['build', '--tag', image, ...args, '.']);
  push('docker', ['push', image]);
}

async function pushChart(target: string, args: readonly string[]): Promise<void> {
  const helm = await findHelm((line) => process.stderr.write(`${line}\n`));
  if (helm === undefined) throw new Refused('no Helm: install it, or Go and set CI=1');
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-chart-'));
  try {
    run(helm, ['package', 'helm/rollcall', '--destination', folder]);
    const file = join(folder, `rollcall-${readManifest().version}.tgz`);
    push(helm, ['push', file, target.toLowerCase(), ...args]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function publishPackage(args: readonly string[]): void {
  const { name, version } = readManifest();
  const registry = args.filter((arg) => arg.startsWith('--registry='));
  const view = spawnSync('npm', ['view', `${name}@${version}`, 'version', ...registry], { encoding: 'utf8' });
  if (view.stdout.trim() === version) {
    process.stderr.write(`${name}@${version} is published already.\n`);
    return;
  }
  const provenance = process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] === undefined ? [] : ['--provenance'];
  run('npm', ['publish', '--access=public', ...provenance, ...args]);
}

async function main([step, first, ...rest]: string[]): Promise<void> {
  if (step === 'verify') return verify(first);
  if (step === 'notes') return console.log(releaseNotes(read('CHANGELOG.md'), readManifest().version));
  if (step === 'sbom') return printSbom();
  if (step === 'package') return publishPackage(first === undefined ? [] : [first, ...rest]);
  if (first !== undefined) {
    if (step === 'prepare') return prepare(first);
    if (step === 'image') return pushImage(first, rest);
    if (step === 'chart') return pushChart(first, rest);
  }
  process.stderr.write(USAGE);
  process.exitCode = step === '--help' ? 0 : 2;
}

if (import.meta.main) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    process.stderr.write(`release: ${error.message}\n`);
    process.exitCode = 1;
  }
}
