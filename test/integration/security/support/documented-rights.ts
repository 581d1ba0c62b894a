import { readFileSync } from 'node:fs';
import kafkajs, { type AclEntry, type Admin } from 'kafkajs';

// kafkajs is CommonJS, and Node finds only some of its names.
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

const DOCUMENT = new URL('../../../../docs/operations.md', import.meta.url);
const RESOURCES = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  'transactional-id': AclResourceTypes.TRANSACTIONAL_ID,
};

export const ANY_RIGHT = {
  resourceType: AclResourceTypes.ANY,
  resourcePatternType: ResourcePatternTypes.ANY,
  operation: AclOperationTypes.ANY,
  permissionType: AclPermissionTypes.ANY,
};

/** The rights that docs/operations.md tells the reader to grant, so that a document that grants too little fails a test. */
export function redisRights(): string[] {
  const rights = /^user rollcall >… on (.+)$/m.exec(readFileSync(DOCUMENT, 'utf8'))?.[1];
  if (rights === undefined) throw new Error('docs/operations.md names no rights in Redis');
  return rights.split(' ');
}

/** Runs the `kafka-acls.sh` commands of the document. */
export async function grantKafkaRights(admin: Admin): Promise<void> {
  const text = readFileSync(DOCUMENT, 'utf8').replaceAll('\\\n', ' ');
  await admin.createAcls({ acl: aclsIn(text) });
}

/** What the `kafka-acls.sh` commands in a text grant. The user is `rollcall`, where they leave it open. */
export function aclsIn(text: string): AclEntry[] {
  const commands = [...text.matchAll(/kafka-acls\.sh … --add ([^\n;]+)/g)].map((match) => match[1] ?? '');
  return commands.flatMap((command) => {
    const value = (option: string): string[] =>
      [...command.matchAll(new RegExp(`--${option} (\\S+)`, 'g'))].map((match) => match[1] ?? '');
    const resource = Object.entries(RESOURCES).find(([name]) => value(name).length > 0);
    if (resource === undefined) throw new Error(`no resource in: ${command}`);
    const [name, resourceType] = resource;
    const [pattern = 'literal'] = value('resource-pattern-type');
    return value('operation').map((operation) => ({
      resourceType,
      resourceName: value(name)[0] ?? '',
      resourcePatternType:
        pattern === 'prefixed' ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
      principal: value('allow-principal')[0]?.replace('<user>', 'rollcall') ?? '',
      host: '*',
      operation: AclOperationTypes[constantOf(operation)],
      permissionType: AclPermissionTypes.ALLOW,
    }));
  });
}

/** `DescribeConfigs` → `DESCRIBE_CONFIGS`. */
function constantOf(operation: string): keyof typeof AclOperationTypes {
  const name = operation.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
  if (!(name in AclOperationTypes)) throw new Error(`no operation ${operation}`);
  return name as keyof typeof AclOperationTypes;
}
