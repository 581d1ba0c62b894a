import type { DifferenceState } from './difference.ts';
import { hashIn, isSound, type TopicEntry } from './topic-entry.ts';

/** What the hub has under a key: content, or a row that cannot be read and that leaves its record as it is. */
export type HubSide =
  | {
      readonly hash: string;
      readonly modifiedAtMs: number | null;
      /** It is there, without any content. */
      readonly becameEmpty?: boolean | undefined;
    }
  | 'unreadable';

export interface KeySides {
  /** Null: the hub does not have it. */
  readonly hub: HubSide | null;
  /** Null: the topic does not have it. */
  readonly topic: TopicEntry | null;
}

type RowKind = 'missing' | 'left-over' | 'different' | 'undecodable';

/** What tells a record from the hub's row; null when they are equal. */
export function differenceOf({ hub, topic }: KeySides): RowKind | null {
  if (hub === null) return topic === null ? null : 'left-over';
  if (topic === null) return hub === 'unreadable' ? null : 'missing';
  if (!isSound(topic)) return 'undecodable';
  return hub === 'unreadable' || hub.hash === hashIn(topic) ? null : 'different';
}

/** What is known of a difference beside the two sides, to tell whether it will go by itself. */
export interface Circumstances {
  /**
   * What the index says of the key: a hash, null for nothing; undefined where it cannot be asked. It is never believed
   * for the topic's sake: where it is as the hub, no pass will see anything to do.
   */
  readonly index: string | null | undefined;
  /** The removal, or the emptying, waits for a person. */
  readonly isWithheld: boolean;
  /** Rows stamped before then (hub time, ms since the epoch) have been read; null before the first complete pass. */
  readonly watermarkMs: number | null;
}

/** Whether a difference is wrong, or the next pass brings it, or it waits for a person. */
export function stateOf(
  kind: RowKind | 'reject-missing' | 'reject-left-over',
  hub: HubSide | null,
  { index, isWithheld, watermarkMs }: Circumstances,
): DifferenceState {
  if (kind === 'undecodable') return 'wrong';
  const isLoss = hub === null || (hub !== 'unreadable' && hub.becameEmpty === true);
  if (kind !== 'missing' && isLoss && isWithheld) return 'withheld';
  // A removal is found by the next full pass, and only of what the index knows.
  if (hub === null || hub === 'unreadable') return index === null ? 'wrong' : 'pending';
  if (index === hub.hash) return 'wrong';
  const { modifiedAtMs } = hub;
  const isRecent = modifiedAtMs === null || watermarkMs === null || modifiedAtMs >= watermarkMs;
  return isRecent ? 'pending' : 'wrong';
}
