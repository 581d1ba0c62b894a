import { createMemoryStore } from '../../../src/state/memory-state.ts';
import { describeStateStore } from './index-store-contract.ts';

const store = createMemoryStore();

describeStateStore({ name: 'memory', open: async () => store, propertyRuns: 300 });
