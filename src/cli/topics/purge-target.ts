import { collectionSettings, type Config, type TenantConfig } from '../../config.ts';
import { RollcallError } from '../../errors.ts';
import type { CollectionName } from '../../model/collections.ts';
import { chooseCollection } from '../choose.ts';

export interface PurgeFlags {
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
  readonly prefix?: string | undefined;
  readonly yes?: boolean | undefined;
}

/** What to remove; `name` is what a person types to confirm it. */
export type PurgeTarget =
  | {
      readonly kind: 'collections';
      readonly name: string;
      readonly tenantId: string;
      readonly collections: readonly CollectionName[];
    }
  /** Entire tenants; `tenantId` null: all tenants under the prefix. */
  | {
      readonly kind: 'tenants';
      readonly name: string;
      readonly topicPrefix: string;
      readonly tenantId: string | null;
    };

/** Throws `USAGE_INVALID` when nothing or too much is named, or the configuration still wants the target. */
export function purgeTarget(config: Config, flags: PurgeFlags): PurgeTarget {
  const { tenant: tenantId, collection, prefix } = flags;
  const { topicPrefix } = config.kafka;
  const isPart = collection !== undefined;
  if (prefix !== undefined && prefix !== topicPrefix) {
    if (isPart)
      throw misnamed('Under another prefix only entire tenants can be purged', 'Leave out --collection.');
    return { kind: 'tenants', name: tenantId ?? prefix, topicPrefix: prefix, tenantId: tenantId ?? null };
  }
  if (tenantId === undefined) {
    if (prefix !== undefined) throw stillWanted(`the prefix ${prefix}`);
    throw misnamed(
      'The command names nothing to purge',
      'Name a tenant with --tenant; "rollcall topics list" shows what is left over.',
    );
  }
  const tenant = config.tenants.find(({ id }) => id === tenantId);
  if (tenant === undefined) {
    if (isPart)
      throw misnamed(
        `${tenantId} is not configured: only the entire tenant can be purged`,
        'Leave out --collection, or correct --tenant.',
      );
    return { kind: 'tenants', name: tenantId, topicPrefix, tenantId };
  }
  if (collection === undefined) throw stillWanted(`the tenant ${tenantId}`);
  return collectionsOf(tenant, collection);
}

function collectionsOf(tenant: TenantConfig, named: readonly string[]): PurgeTarget {
  const collections = [...new Set(named.map(chooseCollection))];
  for (const each of collections) {
    if (collectionSettings(tenant, each).enabled) throw stillWanted(`${each} of ${tenant.id}`);
  }
  const [first] = collections;
  // several have no single name to type in, so it is the tenant's
  const name = collections.length === 1 && first !== undefined ? first : tenant.id;
  return { kind: 'collections', name, tenantId: tenant.id, collections };
}

function stillWanted(what: string): RollcallError {
  return new RollcallError('USAGE_INVALID', `The configuration still includes ${what}: nothing was removed`, {
    remedy:
      'Only what it no longer includes can be purged: "rollcall topics list" and "rollcall status" show that.',
  });
}

function misnamed(message: string, remedy: string): RollcallError {
  return new RollcallError('USAGE_INVALID', message, { remedy });
}
