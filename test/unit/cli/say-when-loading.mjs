// Preloaded by early-stop.test.ts. When the program proper begins to load, which takes its time, it says so, and sends
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
