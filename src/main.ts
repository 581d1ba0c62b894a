import { runProcess } from './cli/program.ts';
import { VERBS } from './cli/verbs.ts';

await runProcess(VERBS);
