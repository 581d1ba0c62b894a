import { Command } from 'commander';
import { stringify } from 'yaml';
import type { Config } from '../config.ts';
import { asyncApiDocument, type ContractTopic } from '../core/contract/asyncapi.ts';
import { readSchemaFiles } from '../log/schema-files.ts';
import { topicSettings } from '../log/manage-topics.ts';
import { STATE_TOPIC } from '../model/collections.ts';
import type { StartedTenant } from '../session/tenant.ts';
import { chooseTenants } from './choose.ts';
import { packageVersion } from './package-version.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { quietAssembly } from './with-assembly.ts';

interface ContractFlags {
  readonly tenant?: string | undefined;
}

/** `rollcall contract`: describes the topics for those who read them. */
export function command(): Command {
  return new Command('contract')
    .description(
      'Prints the topics of the configuration, with their keys, headers, Avro schemas and settings, as an AsyncAPI 3 document.',
    )
    .option('--tenant <id>', 'only this tenant')
    .addHelpText('after', '\nIt asks no service. YAML; with --json, JSON:  rollcall contract > asyncapi.yaml')
    .action(verbAction(contract));
}

async function contract(context: VerbContext, { options }: VerbInput<ContractFlags>): Promise<void> {
  const { output } = context;
  await using assembly = quietAssembly(context.loadConfig({ withoutHub: true }));
  const tenants = chooseTenants(assembly.config, options.tenant).map(({ id }) => assembly.tenant(id));
  const document = contractOf(assembly.config, tenants);
  output.line(stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd());
  output.data(document);
}

/** The AsyncAPI document of some tenants. It leaves out `absence-state`, which is internal. */
export function contractOf(config: Config, tenants: readonly StartedTenant[]): object {
  const schemas = readSchemaFiles();
  const topics = tenants.flatMap(({ config: { id }, topics }) =>
    topics.flatMap(({ name, suffix, partitions, replicationFactor }): ContractTopic[] => {
      if (suffix === STATE_TOPIC) return [];
      const settings = topicSettings(suffix).map((setting) => [setting.name, setting.value]);
      const schema = schemas.get(suffix)?.schema ?? {};
      return [
        {
          name,
          tenantId: id,
          suffix,
          partitions,
          replicas: replicationFactor,
          settings: Object.fromEntries(settings) as Record<string, string>,
          schema,
        },
      ];
    }),
  );
  const { brokers, ssl, sasl } = config.kafka;
  return asyncApiDocument({
    version: packageVersion(),
    topics,
    brokers,
    isEncrypted: ssl !== false,
    mechanism: sasl?.mechanism ?? null,
    registryUrl: config.registry.url,
  });
}
