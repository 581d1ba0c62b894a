// early-stop.test.ts preloads this. When the program itself begins to load, it prints a line and sends
// this process the signal that EARLY_SIGNAL names.
import { writeSync } from 'node:fs';
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, nextLoad) {
    if (url.endsWith('/src/main.ts')) {
      writeSync(2, 'loading\n');
      if (process.env.EARLY_SIGNAL !== undefined) process.kill(process.pid, process.env.EARLY_SIGNAL);
    }
    return nextLoad(url, context);
  },
});
