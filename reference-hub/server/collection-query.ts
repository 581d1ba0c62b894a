import { badRequest, RequestRefused } from './reply.ts';

export const DEFAULT_LIMIT = 100;

/** The query parameters of spec 4.2 and the standard's `fields`, read and checked. */
export interface CollectionQuery {
  mode: 'keyset' | 'offset';
  limit: number;
  after: string | undefined;
  offset: number;
  sort: string | undefined;
  descending: boolean;
  filter: string | undefined;
  fields: readonly string[] | undefined;
}

/**
 * @param keysetOffered false for nested collections, which know `limit` and `offset` only (spec 4.1)
 * @throws RequestRefused 400 for an invalid number, an unknown direction, or a field that the collection does not have
 */
export function readQuery(
  parameters: URLSearchParams,
  options: { keysetOffered: boolean; fields: readonly string[] },
): CollectionQuery {
  const after = options.keysetOffered ? (parameters.get('afterSourcedId') ?? undefined) : undefined;
  const ordered = parameters.has('offset') || parameters.has('sort') || parameters.has('orderBy');
  const keyset = after !== undefined || (options.keysetOffered && !ordered);
  const limit = wholeNumber(parameters, { name: 'limit', least: 1 }) ?? DEFAULT_LIMIT;
  const filter = parameters.get('filter') ?? undefined;
  const common = { limit, after, filter, fields: selection(parameters, options.fields) };
  // Spec 4.3 rule 3: beside a cursor these three are ignored, so they are not checked either.
  if (keyset) return { ...common, mode: 'keyset', offset: 0, sort: undefined, descending: false };
  const orderBy = parameters.get('orderBy') ?? 'asc';
  if (orderBy !== 'asc' && orderBy !== 'desc') throw badRequest('orderBy is asc or desc');
  const sort = parameters.get('sort') ?? undefined;
  if (sort !== undefined && !options.fields.includes(sort.split('.')[0] ?? '')) {
    throw unknownField('sort');
  }
  const offset = wholeNumber(parameters, { name: 'offset', least: 0 }) ?? 0;
  return { ...common, mode: 'offset', offset, sort, descending: orderBy === 'desc' };
}

function wholeNumber(
  parameters: URLSearchParams,
  options: { name: string; least: number },
): number | undefined {
  const text = parameters.get(options.name);
  if (text === null) return undefined;
  const value = Number(text);
  if (!/^\d{1,10}$/.test(text) || value < options.least || value > 2_147_483_647) {
    throw badRequest(`${options.name} is a whole number from ${options.least} on`);
  }
  return value;
}

function selection(parameters: URLSearchParams, known: readonly string[]): readonly string[] | undefined {
  const text = parameters.get('fields');
  if (text === null || text === '') return undefined;
  const fields = text.split(',').map((field) => field.trim());
  const unknown = fields.find((field) => !known.includes(field));
  if (unknown === undefined) return fields;
  throw unknownField('fields');
}

function unknownField(parameter: string): RequestRefused {
  const why = `${parameter} names a field that the collection does not have.`;
  return new RequestRefused(400, why, { codeMinor: 'invalid_selection_field' });
}
