import { createMemoryStore } from '../../../src/state/memory-store.ts';
import { describeCoordination } from './coordination-contract.ts';
import { describeIndexAreas } from './index-areas-contract.ts';
import { describeStateStore } from './index-store-contract.ts';

const store = createMemoryStore();

describeStateStore({ name: 'memory', open: async () => store, propertyRuns: 300 });
describeIndexAreas({ name: 'memory', open: async () => store });
describeCoordination({ name: 'memory', open: async () => createMemoryStore() });
