import { readFileSync } from 'node:fs';
import kafkajs, { type Admin } from 'kafkajs';

// kafkajs is CommonJS, and Node finds only some of its names.
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

const DOCUMENT = new URL('../../../../docs/operations.md', import.meta.url);
const RESOURCES = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  'transactional-id': AclResourceTypes.TRANSACTIONAL_ID,
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
  const commands = [...text.matchAll(/^kafka-acls\.sh … --add (.+)$/gm)].map((match) => match[1] ?? '');
  const acl = commands.flatMap((command) => {
    const value = (option: string): string[] =>
      [...command.matchAll(new RegExp(`--${option} (\\S+)`, 'g'))].map((match) => match[1] ?? '');
    const resource = Object.entries(RESOURCES).find(([name]) => value(name).length > 0);
    if (resource === undefined) throw new Error(`no resource in: ${command}`);
    const [name, resourceType] = resource;
    return value('operation').map((operation) => ({
      resourceType,
      resourceName: value(name)[0] ?? '',
      resourcePatternType: ResourcePatternTypes.PREFIXED,
      principal: value('allow-principal')[0] ?? '',
      host: '*',
      operation: AclOperationTypes[constantOf(operation)],
      permissionType: AclPermissionTypes.ALLOW,
    }));
  });
  await admin.createAcls({ acl });
}

/** `DescribeConfigs` → `DESCRIBE_CONFIGS`. */
function constantOf(operation: string): keyof typeof AclOperationTypes {
  const name = operation.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
  if (!(name in AclOperationTypes)) throw new Error(`no operation ${operation}`);
  return name as keyof typeof AclOperationTypes;
}
