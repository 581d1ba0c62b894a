import { createMemoryStore } from '../../../src/state/memory-state.ts';
import { describeCoordination } from './coordination-contract.ts';
import { MemoryCoordination } from './memory-coordination.ts';
import { describeStateStore } from './index-store-contract.ts';

const store = createMemoryStore();

describeStateStore({ name: 'memory', open: async () => store, propertyRuns: 300 });
describeCoordination({
  name: 'double',
  open: async () => ({ ...createMemoryStore(), coordination: new MemoryCoordination() }),
});
