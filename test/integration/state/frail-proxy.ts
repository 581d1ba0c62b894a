import { startProxy } from '../../faults/support/proxy.ts';

export type FrailProxy = Awaited<ReturnType<typeof startFrailProxy>>;

/** A proxy that can cut connections: those that it has, and new ones until `mend`. */
export async function startFrailProxy(targetUrl: string) {
  const proxy = await startProxy(new URL(targetUrl).host);
  return {
    url: `redis://${proxy.address}`,
    cut: () => proxy.begin('cut'),
    mend: () => proxy.mend(),
    close: () => proxy[Symbol.asyncDispose](),
  };
}
