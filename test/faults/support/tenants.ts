import { CHAIN_COLLECTIONS } from '../../../src/model/collections.ts';
import { CHURN_SETTINGS, CHURNED } from './churn.ts';

/** What `configTextOf` and `openMirror` need for a tenant of a churning hub: a page is a transaction or so. */
export const CHURNED_OPTIONS = {
  collections: [...CHURNED, ...CHAIN_COLLECTIONS],
  hubSettings: { pageSize: 50 },
  tenant: { deltaEvery: '1s' },
  settings: CHURN_SETTINGS,
} as const;
