import { runProcess } from './cli/run-process.ts';
import { VERBS } from './cli/verbs.ts';

await runProcess(VERBS);
