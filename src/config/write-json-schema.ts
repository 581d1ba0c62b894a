import { writeFileSync } from 'node:fs';
import { configJsonSchema } from '../config.ts';

// Run this after a change of the configuration's schema; a test fails while the file is out of date.
const target = new URL('../../config.schema.json', import.meta.url);
writeFileSync(target, `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
