import type { Config, TenantConfig } from '../config.ts';
import { didYouMean } from '../core/did-you-mean.ts';
import { RollcallError } from '../errors.ts';
import { COLLECTIONS, type CollectionName } from '../model/collections.ts';

/** The options that limit a verb to some tenants and collections. */
export interface Scope {
  readonly tenant?: string | undefined;
  readonly collection?: readonly string[] | undefined;
}

/** The tenant with that id, or all tenants without an id. Throws `USAGE_INVALID` for an unknown id. */
export function chooseTenants(config: Config, id: string | undefined): readonly TenantConfig[] {
  if (id === undefined) return config.tenants;
  const ids = config.tenants.map((tenant) => tenant.id);
  chooseFrom('tenant', id, ids);
  return config.tenants.filter((tenant) => tenant.id === id);
}

/** The tenant with that id, or the only one. Throws `USAGE_INVALID`. */
export function chooseTenant(config: Config, id: string | undefined): TenantConfig {
  const [tenant, ...others] = chooseTenants(config, id);
  if (tenant !== undefined && others.length === 0) return tenant;
  const what = 'The configuration has several tenants, and this command works on one';
  throw new RollcallError('USAGE_INVALID', what, { remedy: 'Name the tenant with --tenant.' });
}

/**
 * The tenants and collections that a verb is for. Without `--tenant`, these are all tenants. Without `--collection`,
 * the list of collections is empty, which means all. Throws `USAGE_INVALID` for an unknown name, and for a collection
 * that none of these tenants mirrors.
 */
export function choose(
  config: Config,
  flags: Scope,
): { readonly tenants: readonly TenantConfig[]; readonly collections: readonly CollectionName[] } {
  const tenants = chooseTenants(config, flags.tenant);
  const names = (flags.collection ?? []).map((name) => chooseFrom('collection', name, COLLECTIONS));
  const notMirrored = names.find((name) => !tenants.some((each) => each.collections[name].enabled));
  if (notMirrored !== undefined) {
    const ids = tenants.map(({ id }) => id).join(', ');
    throw new RollcallError('USAGE_INVALID', `${notMirrored} is not mirrored for ${ids}`, {
      remedy: 'Enable it under tenants.collections, or name another collection.',
    });
  }
  return { tenants, collections: [...new Set(names)] };
}

const MOST_LISTED = 30;

/** Throws `USAGE_INVALID` for a name that is not known. */
export function chooseFrom<T extends string>(what: string, name: string, known: readonly T[]): T {
  const found = known.find((each) => each === name);
  if (found !== undefined) return found;
  const message = `There is no ${what} ${JSON.stringify(name)}${didYouMean(name, known)}`;
  const remedy = `Choose one of: ${known.slice(0, MOST_LISTED).join(', ')}${known.length > MOST_LISTED ? ', …' : '.'}`;
  throw new RollcallError('USAGE_INVALID', message, { remedy });
}
