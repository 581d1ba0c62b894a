import type { JsonObject } from '../json.ts';

/**
 * One row of a collection. Its content is an object, or, while nobody has touched or asked for it, the number from
 * which the generator can build it: a million results fit in memory that way.
 */
export interface Row {
  readonly id: string;
  /** Milliseconds since 1970; counts only while `epoch` is the store's. */
  stampMs: number;
  /**
   * The number of re-stamps before this row was last stamped by itself. If the store has counted more since, the row
   * has the time of the last re-stamp.
   */
  epoch: number;
  /** Without `sourcedId` and `dateLastModified`, unless a test wants its own there. */
  content: JsonObject | number;
  /** `,{…}` ready to be copied into a page; undefined until somebody asks. */
  bytes: Buffer | undefined;
  /** Where in `bytes` the 24 characters of `dateLastModified` begin; -1 if the content has a value of its own. */
  stampOffset: number;
  /** The stamp that stands in `bytes`. */
  renderedMs: number;
}

/** A row that the generator can build from a number; stamped by the last nightly synchronisation. */
export function generatedRow(id: string, index: number): Row {
  return { id, stampMs: 0, epoch: -1, content: index, bytes: undefined, stampOffset: -1, renderedMs: 0 };
}

export function renderedRow(row: Row, options: { content: JsonObject; stampMs: number }): Buffer {
  if (row.bytes !== undefined) {
    if (row.renderedMs !== options.stampMs && row.stampOffset >= 0) {
      row.bytes.write(new Date(options.stampMs).toISOString(), row.stampOffset, 'latin1');
      row.renderedMs = options.stampMs;
    }
    return row.bytes;
  }
  const { content, stampMs } = options;
  if (Object.hasOwn(content, 'sourcedId') || Object.hasOwn(content, 'dateLastModified')) {
    row.stampOffset = -1;
    row.bytes = Buffer.from(`,${JSON.stringify(fullRow(row.id, { content, stampMs }))}`);
    return row.bytes;
  }
  const head = `,{"sourcedId":${JSON.stringify(row.id)},"dateLastModified":"`;
  const rest = JSON.stringify(content);
  row.stampOffset = Buffer.byteLength(head);
  row.renderedMs = stampMs;
  row.bytes = Buffer.from(
    `${head}${new Date(stampMs).toISOString()}"${rest === '{}' ? '' : ','}${rest.slice(1)}`,
  );
  return row.bytes;
}

/** The row as an object, in the field order of the wire. */
export function fullRow(id: string, options: { content: JsonObject; stampMs: number }): JsonObject {
  return { sourcedId: id, dateLastModified: new Date(options.stampMs).toISOString(), ...options.content };
}
