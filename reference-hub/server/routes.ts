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

const NESTED = [
  { kind: 'class', pattern: new RegExp(`^${CLASSES_PATH}/([^/]+)$`) },
  { kind: 'class-students', pattern: new RegExp(`^${CLASSES_PATH}/([^/]+)/students$`) },
  { kind: 'afterschool-users', pattern: new RegExp(`^${AFTERSCHOOLS_PATH}/([^/]+)/users$`) },
] as const;

export function routeOf(path: string): Route | undefined {
  const collection = COLLECTION_OF_PATH.get(path);
  if (collection !== undefined) return { kind: 'collection', collection };
  if (path === SCHEDULES_PATH) return { kind: 'schedules' };
  if (path === '/api/core/swagger-ui/index.html') return { kind: 'swagger' };
  for (const { kind, pattern } of NESTED) {
    const id = decodedSegment(pattern.exec(path)?.[1]);
    if (id !== undefined) return { kind, id };
  }
  return undefined;
}

/** Name under which a route is counted and can be given faults. */
export function targetOf(route: Route): string {
  return route.kind === 'collection' ? route.collection : route.kind;
}

function decodedSegment(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
