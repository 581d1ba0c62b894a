import { Command } from 'commander';
import { stringify } from 'yaml';
import { asyncApiDocument } from '../core/contract/asyncapi.ts';
import { topicSettings } from '../log/topic-settings.ts';
import { readSchemaFiles } from '../log/registry/schema-files.ts';
import { topicsOf } from '../session/used-in-kafka.ts';
import { chooseTenants, type Scope } from './choose.ts';
import { packageVersion } from './package-version.ts';
import { verbAction, type Verb } from './verb-action.ts';

/** `rollcall contract`: describes the topics for those who read them. */
export function command(): Command {
  return new Command('contract')
    .description(
      'Prints the topics of the configuration, with their keys, headers, Avro schemas and settings, as an AsyncAPI 3 document.',
    )
    .option('--tenant <id>', 'only this tenant')
    .addHelpText(
      'after',
      '\nIt contacts no service, and prints YAML, or JSON with --json.\n\nExample:\n  rollcall contract > asyncapi.yaml',
    )
    .action(verbAction(contract));
}

async function contract({ output, loadConfig, flags }: Verb<Scope>): Promise<void> {
  const config = loadConfig({ without: 'services' });
  const schemas = readSchemaFiles();
  const topics = chooseTenants(config, flags.tenant)
    .flatMap((tenant) => topicsOf(config, tenant))
    .flatMap((topic) => {
      const schema = schemas.get(topic.suffix);
      // `absence-state` has no schema: it is internal, and its values are not Avro.
      return schema === undefined ? [] : [{ ...topic, settings: topicSettings(topic.suffix), schema }];
    });
  const document = asyncApiDocument(packageVersion, topics);
  output.line(stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd());
  output.data(document);
}
