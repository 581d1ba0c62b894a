/** Position of each field of a batch's header, in bytes (KIP-98; Kafka's DefaultRecordBatch, magic 2). */
export const AT = {
  firstOffset: 0,
  length: 8,
  leaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  firstTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  firstSequence: 53,
  count: 57,
  records: 61,
} as const;

/** The attribute of a batch that belongs to a transaction. */
export const TRANSACTIONAL = 0x10;
