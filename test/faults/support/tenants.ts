import { DERIVED_COLLECTIONS } from '../../../src/model/collections.ts';
import { CHURN_SETTINGS, CHURNED } from './churn.ts';

/** Options for `configTextOf` and `openMirror` with a churning hub: about one transaction per page. */
export const CHURNED_OPTIONS = {
  collections: [...CHURNED, ...DERIVED_COLLECTIONS],
  hubSettings: { pageSize: 50 },
  tenant: { deltaEvery: '1s' },
  settings: CHURN_SETTINGS,
} as const;
