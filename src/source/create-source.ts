import type { RowReader } from '../core/decoded-row.ts';
import type { Hub } from '../hub/hub.ts';
import { collectionNamed, type CollectionName } from '../model/collections.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import { classStudentsSource, nestedSource, parentsWithoutRows, plainSource, type Source } from './source.ts';

export interface SourceParts {
  readonly hub: Hub;
  readonly reader: RowReader;
  /** The parents that the configuration names; only for `afterschool-users`. */
  readonly parentIds?: readonly string[] | undefined;
  readonly indexOf: (collection: CollectionName) => Pick<CollectionIndex, 'keys'>;
  /** Reads an index while nothing writes to it. */
  readonly undisturbed: <T>(collection: CollectionName, read: () => Promise<T>) => Promise<T>;
}

/** The source of a collection's rows. */
export function createSource(name: CollectionName, parts: SourceParts): Source {
  const { hub, reader, parentIds = [], indexOf, undisturbed } = parts;
  const collection = collectionNamed(name);
  switch (name) {
    case 'class-students':
      return classStudentsSource({
        hub,
        collection,
        classes: 'classes',
        classIds: () => undisturbed('classes', () => allKeys(indexOf('classes'))),
      });
    case 'afterschool-users': {
      const newParents = (): Promise<ReadonlySet<string>> =>
        undisturbed(name, () => parentsWithoutRows(parentIds, indexOf(name)));
      return nestedSource({ hub, collection, reader, parentIds, newParents });
    }
    default:
      return plainSource(hub, collection, reader);
  }
}

export async function allKeys(index: Pick<CollectionIndex, 'keys'>): Promise<string[]> {
  const all: string[] = [];
  for await (const keys of index.keys('rows')) all.push(...keys);
  return all;
}
