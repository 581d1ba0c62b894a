import type { CollectionName } from '../district/collections.ts';
import {
  AFTERSCHOOLS_PATH,
  CLASSES_PATH,
  COLLECTION_NAMES,
  COLLECTIONS,
  SCHEDULES_PATH,
} from '../district/collections.ts';

/** What a path below the tenant prefix asks for (spec 4.1). */
export type Route =
  | { readonly kind: 'collection'; readonly collection: CollectionName }
  | { readonly kind: 'class'; readonly id: string }
  | { readonly kind: 'class-students'; readonly id: string }
  | { readonly kind: 'afterschool-users'; readonly id: string }
  | { readonly kind: 'schedules' }
  | { readonly kind: 'swagger' };

/** What a fault or the request log may name: a collection, or one of these. */
export const OTHER_TARGETS = ['class', 'class-students', 'afterschool-users', 'schedules', 'token'] as const;

const COLLECTION_OF_PATH = new Map(COLLECTION_NAMES.map((name) => [COLLECTIONS[name].path, name]));

export function routeOf(path: string): Route | undefined {
  const collection = COLLECTION_OF_PATH.get(path);
  if (collection !== undefined) return { kind: 'collection', collection };
  if (path === SCHEDULES_PATH) return { kind: 'schedules' };
  if (path === '/api/core/swagger-ui/index.html') return { kind: 'swagger' };
  return (
    nested(path, { prefix: `${CLASSES_PATH}/`, leaf: 'students', kind: 'class-students' }) ??
    nested(path, { prefix: `${AFTERSCHOOLS_PATH}/`, leaf: 'users', kind: 'afterschool-users' }) ??
    single(path)
  );
}

/** Name under which a route is counted and can be given faults. */
export function targetOf(route: Route): string {
  return route.kind === 'collection' ? route.collection : route.kind;
}

function nested(
  path: string,
  options: { prefix: string; leaf: string; kind: 'class-students' | 'afterschool-users' },
): Route | undefined {
  if (!path.startsWith(options.prefix)) return undefined;
  const [id, leaf, ...rest] = path.slice(options.prefix.length).split('/');
  if (id === undefined || id === '' || leaf !== options.leaf || rest.length > 0) return undefined;
  const decoded = decodedSegment(id);
  return decoded === undefined ? undefined : { kind: options.kind, id: decoded };
}

function single(path: string): Route | undefined {
  const prefix = `${CLASSES_PATH}/`;
  if (!path.startsWith(prefix)) return undefined;
  const id = path.slice(prefix.length);
  if (id === '' || id.includes('/')) return undefined;
  const decoded = decodedSegment(id);
  return decoded === undefined ? undefined : { kind: 'class', id: decoded };
}

function decodedSegment(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
