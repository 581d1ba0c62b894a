import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { exchange, PAGE, type Script } from './support/scripted-hub.ts';

it('a hub that begins its answer after twenty seconds is read where hub.requestTimeout allows it', async () => {
  const slow: Script = async (request, response) => {
    await delay(20_000);
    return PAGE(request, response);
  };
  expect(await exchange([slow], { requestTimeoutMs: 60_000 })).toMatchObject({ ids: ['a'], requests: 1 });
});
