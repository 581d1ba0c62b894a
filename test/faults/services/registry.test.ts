import { describe, inject, it } from 'vitest';
import { startProxy } from '../support/proxy.ts';
import { begin, type ProxyTrouble } from '../support/proxy-weather.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { startMirrored } from './support/mirrored.ts';

const AT_A_START: readonly ProxyTrouble[] = ['cut', 'stall', 'slow'];

describe.each(ROUNDS)('round %i', (seed) => {
  it('while the registry is away, a process that knows the schemas continues, and one that does not takes no tenant over', async () => {
    await using proxy = await startProxy({ target: new URL(inject('stack').registryUrl).host });
    proxy.cut();
    await using mirrored = await startMirrored({ seed, detours: { registry: proxy.address } });
    await mirrored.notReady('registry');
    proxy.mend();
    await mirrored.loaded();
    {
      using _ = mirrored.churn.live(50);
      for (const trouble of AT_A_START) {
        const older = mirrored.child;
        const newer = await mirrored.start();
        await newer.says('no tenant is assigned to this process');
        begin(proxy, trouble);
        await mirrored.flows(older);
        older.kill('SIGTERM');
        await older.endsWith(0);
        if (trouble !== 'slow') {
          await mirrored.notReady('registry');
          proxy.mend();
        }
        await mirrored.ready();
        proxy.mend();
      }
    }
    await mirrored.heals();
  });
});
