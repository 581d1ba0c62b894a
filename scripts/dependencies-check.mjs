// Checks the dependencies: licences that may be used, and no known vulnerability of high severity in the image. The check of
// licences reads the lock file and needs no network. If the registry does not answer, it says that nothing was audited.
//   node scripts/dependencies-check.mjs [--list]
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from './setup.mjs';

/** What may be part of the image: permissive licences only. */
const IN_THE_IMAGE = new Set(['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD']);
/** What may be used besides, to build and to test. */
const FOR_DEVELOPMENT = new Set([...IN_THE_IMAGE, 'BlueOak-1.0.0', 'MPL-2.0', 'Python-2.0', 'Unlicense']);
/** Packages whose package.json names no licence; each was looked up in the package. */
const LOOKED_UP = new Map([
  ['@kafkajs/confluent-schema-registry', 'MIT'],
  ['buildcheck', 'MIT'],
  ['cpu-features', 'MIT'],
  ['ssh2', 'MIT'],
]);
const AUDIT_WITHIN_MS = 60_000;

const print = (/** @type {string} */ line) => process.stdout.write(`dependencies: ${line}\n`);

/** @returns {{ name: string, version: string, licence: string, isDev: boolean }[]} */
function packages() {
  const lock = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8'));
  return Object.entries(lock.packages).flatMap(([path, { version, license, dev = false }]) => {
    if (path === '') return [];
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return [{ name, version, licence: license ?? LOOKED_UP.get(name) ?? 'none', isDev: dev }];
  });
}

function checkLicences() {
  const all = packages();
  const refused = all.filter(({ licence, isDev }) => !(isDev ? FOR_DEVELOPMENT : IN_THE_IMAGE).has(licence));
  for (const { name, version, licence } of refused)
    print(`${name} ${version} has the licence ${licence}, which is not accepted`);
  const inImage = all.filter(({ isDev }) => !isDev).length;
  print(
    `${inImage} packages of the image and ${all.length - inImage} for development, ${refused.length} licences not accepted`,
  );
  return refused.length === 0;
}

/** A vulnerability in what the image holds fails the check; one in a tool for development is reported. */
function audit() {
  const inImage = seriousIn(['--omit=dev']);
  const inAll = inImage === undefined ? undefined : seriousIn([]);
  if (inImage === undefined || inAll === undefined) {
    print('NOT AUDITED: the registry does not answer questions about vulnerabilities');
    return true;
  }
  print(
    `npm audit: ${inImage} of high or critical severity in the image, ${inAll - inImage} in tools for development`,
  );
  return inImage === 0;
}

/** The number of vulnerabilities of high or critical severity; undefined without an answer. */
function seriousIn(/** @type {string[]} */ options) {
  const { stdout } = spawnSync('npm', ['audit', '--json', ...options], {
    cwd: checkout,
    encoding: 'utf8',
    timeout: AUDIT_WITHIN_MS,
  });
  const found = parsed(stdout)?.metadata?.vulnerabilities;
  return found === undefined ? undefined : found.high + found.critical;
}

function parsed(/** @type {string} */ text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

if (process.argv.includes('--list')) {
  for (const { name, version, licence, isDev } of packages()) {
    if (!isDev) process.stdout.write(`${name} ${version}: ${licence}\n`);
  }
} else {
  const isGood = [checkLicences(), audit()].every(Boolean);
  process.exitCode = isGood ? 0 : 1;
}
