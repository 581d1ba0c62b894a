import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { InterleavingSequencer } from './test/run/interleaving-sequencer.ts';
import ProgressReporter from './test/run/progress-reporter.ts';

/** Half of the tests wait for services and time-outs more than they compute. */
const maxWorkers = 2 * availableParallelism();
const withServices = {
  globalSetup: ['test/integration/support/stack.ts'],
  setupFiles: ['test/run/quiet-clients.ts'],
  hookTimeout: 180_000,
};

export default defineConfig({
  test: {
    reporters: [new ProgressReporter()],
    slowTestThreshold: 5_000,
    sequence: { sequencer: InterleavingSequencer },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          maxWorkers,
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts'],
          maxWorkers,
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          ...withServices,
          maxWorkers,
          testTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          ...withServices,
          maxWorkers,
          testTimeout: 300_000,
        },
      },
    ],
  },
});
