// Builds dist, which the npm package and the image run: src and most of its libraries, bundled so that each verb loads a
// few files, with source maps, the licences of what is in it, and the files that src reads (docs/adr/0028-the-package-is-bundled.md).
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';
import { checkout } from './setup.mjs';

const [source = '', target = ''] = ['src', 'dist'].map((name) => join(checkout, name));
/**
 * Packages that are not bundled: src imports single files of them, changes their modules, or exchanges avsc's types with the
 * registry's client; or the package is optional.
 */
const LOADED_FROM_NODE_MODULES = [
  /^kafkajs\b/,
  /^undici\b/,
  /^@kafkajs\/confluent-schema-registry\b/,
  'avsc',
  'aws-msk-iam-sasl-signer-js',
];

/**
 * A module finds the files that it reads by its own address. A bundled module has another address, so this puts back the one
 * that it would have unbundled.
 */
const keepsItsPlace = {
  name: 'keeps-its-place',
  /** @param {string} code @param {string} id */
  transform(code, id) {
    if (!id.startsWith(source + sep) || !code.includes('import.meta.url')) return null;
    const place = JSON.stringify(`./${relative(source, id).replace(/ts$/, 'js')}`);
    return { code: code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`), map: null };
  },
};

/** The file of a module as a stack trace names it: one of ours as if it lay in dist. @param {string} path */
const nameInStacks = (path) => path.replace(/^\.\.\/src\//, '');

rmSync(target, { recursive: true, force: true });
const bundle = await rolldown({
  input: join(source, 'main.ts'),
  platform: 'node',
  external: LOADED_FROM_NODE_MODULES,
  plugins: [keepsItsPlace],
});
const { output } = await bundle.write({
  dir: target,
  chunkFileNames: '[name].js',
  sourcemap: true,
  sourcemapPathTransform: nameInStacks,
});
cpSync(source, target, { recursive: true, filter: (path) => extname(path) !== '.ts' });
const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
writeFileSync(join(target, 'LICENSES.txt'), licencesOf(modules));

/** The licence of each package that has one of these modules. @param {string[]} ids */
function licencesOf(ids) {
  const folders = new Set(ids.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []));
  return [...folders]
    .toSorted()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
      const text =
        file === undefined
          ? 'The package has no text of it.'
          : readFileSync(join(folder, file), 'utf8').trim();
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
