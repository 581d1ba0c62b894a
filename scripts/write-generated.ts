import { writeFileSync } from 'node:fs';
import { configFileSchema } from './config-schema.ts';
import { configurationPage } from './configuration-page.ts';

// Run this (npm run schemas) after a change of the configuration's schema; a test fails while the files are out of date.
const checkout = new URL('../', import.meta.url);
const schema = configFileSchema();
writeFileSync(new URL('config.schema.json', checkout), `${JSON.stringify(schema, null, 2)}\n`);
writeFileSync(new URL('docs/configuration.md', checkout), configurationPage(schema));
