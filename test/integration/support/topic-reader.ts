import { inject } from 'vitest';
import { endOffsetsAt, readTopicsAt, type EndOffsets, type TopicRecord } from './read-topics.ts';

export { compactedView, type EndOffsets, type TopicRecord } from './read-topics.ts';

/** Where the topics end now, in the stack of the tests. */
export function endOffsets(topics: readonly string[]): Promise<EndOffsets> {
  return endOffsetsAt(inject('stack'), topics);
}

/** All committed records from the beginning to the present end, in the stack of the tests. */
export function readTopics(topics: readonly string[]): Promise<TopicRecord[]> {
  return readTopicsAt(inject('stack'), topics);
}
