import { collectionNamed, type CollectionName } from '../model/collections.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import type { CollectionWriter } from './collection-writer.ts';
import { classStudentsSource, nestedSource, parentsWithoutRows, plainSource, type Source } from './source.ts';
import type { TenantCollection, TenantParts } from './tenant-parts.ts';

/** The source of a collection's rows. */
export function createSource(
  parts: TenantParts,
  { name, reader, parentIds = [] }: TenantCollection,
  writers: ReadonlyMap<CollectionName, CollectionWriter>,
): Source {
  const { hub } = parts;
  const collection = collectionNamed(name);
  switch (name) {
    case 'class-students':
      return classStudentsSource({
        hub,
        collection,
        classes: collectionNamed('classes'),
        classIds: async function* () {
          const read = (): Promise<string[]> => allKeys(parts.state.collection('classes'));
          yield await (writers.get('classes')?.undisturbed(read) ?? read());
        },
      });
    case 'afterschool-users': {
      const find = (): Promise<ReadonlySet<string>> =>
        parentsWithoutRows(parentIds, parts.state.collection(name));
      const newParents = (): Promise<ReadonlySet<string>> => writers.get(name)?.undisturbed(find) ?? find();
      return nestedSource({ hub, collection, reader, parentIds, newParents });
    }
    default:
      return plainSource(hub, collection, reader);
  }
}

async function allKeys(index: Pick<CollectionIndex, 'keys'>): Promise<string[]> {
  const all: string[] = [];
  for await (const keys of index.keys('rows')) all.push(...keys);
  return all;
}
