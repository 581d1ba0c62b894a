import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { IS_FULL } from './test/run/rounds.ts';
import { InterleavingSequencer } from './test/run/interleaving-sequencer.ts';

// Hundreds of processes of the program are started, and half of what each takes to start is compiling it.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'compiled');

/** Half of the tests wait for services and time-outs more than they compute. */
const maxWorkers = 2 * availableParallelism();
const forAll = {
  setupFiles: ['test/run/patience.ts'],
  // commands as a program of that name prints them, wherever the tests run
  env: { ROLLCALL_COMMAND: 'rollcall' },
  // limits against what hangs: on a loaded machine all takes several times as long
  testTimeout: 120_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 30_000 } },
  maxWorkers,
  // A third of the unit tests' work was loading the same modules for each file.
  isolate: false,
  unstubEnvs: true,
  // what takes long and rarely breaks alone
  exclude: IS_FULL ? [] : ['**/*.full.test.ts'],
};
const withServices = {
  ...forAll,
  globalSetup: ['test/integration/support/stack.ts'],
  setupFiles: [...forAll.setupFiles, 'test/run/quiet-clients.ts'],
};

export default defineConfig({
  test: {
    slowTestThreshold: 5_000,
    sequence: { sequencer: InterleavingSequencer },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          ...forAll,
        },
      },
      {
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts', 'test/oracle/**/*.test.ts'],
          ...forAll,
          testTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          ...withServices,
          testTimeout: 400_000,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          ...withServices,
          testTimeout: 600_000,
        },
      },
    ],
  },
});
