import { createOutput, type OutputStream } from '../../../../src/cli/output.ts';

/** What an output prints, with a clock that the test moves. `stream`: what its streams are like, such as a terminal. */
export function printing({
  json = false,
  stream = {},
}: { json?: boolean; stream?: Partial<OutputStream> } = {}) {
  const said = { stdout: '', stderr: '' };
  const clock = { nowMs: 0 };
  const into = (name: keyof typeof said) => ({
    ...stream,
    write: (text: string) => void (said[name] += text),
  });
  const host = { stdout: into('stdout'), stderr: into('stderr'), env: {} };
  return { said, clock, output: createOutput({ host, json, nowMs: () => clock.nowMs }) };
}
