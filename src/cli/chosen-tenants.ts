import type { Config } from '../config.ts';
import { RollcallError } from '../errors.ts';

/** The tenants a command is for: the one named, else all. Throws `USAGE_INVALID` for one that is not there. */
export function chosenTenants(config: Config, wanted: string | undefined): Config['tenants'] {
  if (wanted === undefined) return config.tenants;
  const found = config.tenants.filter(({ id }) => id === wanted);
  if (found.length > 0) return found;
  throw new RollcallError('USAGE_INVALID', `The configuration has no tenant ${wanted}`, {
    remedy: `It has ${config.tenants.map(({ id }) => id).join(', ')}.`,
  });
}
