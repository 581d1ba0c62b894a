import type { Command } from 'commander';
import { existsSync } from 'node:fs';
import { runProcess, type Verbs } from './cli/program.ts';
import { VERBS } from './cli/verbs.ts';

/** A checkout has it; the package and the image do not, so it is not imported by name. */
const referenceHub = new URL('../reference-hub/verb.ts', import.meta.url);
const inCheckout: Verbs = existsSync(referenceHub)
  ? {
      hub: [
        'the reference hub: serves an invented school district through the whole API',
        () => import(referenceHub.href) as Promise<{ command: () => Command }>,
      ],
    }
  : {};

await runProcess({ ...VERBS, ...inCheckout });
