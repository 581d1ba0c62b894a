import type { ActivePass } from '../active-pass.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import { newPassStats } from '../pass-stats.ts';
import type { TellAgain } from '../tell-again.ts';
import type { OwnerWork } from './owner-request.ts';

/** A pass that walks nothing: its rows are asked for. */
export function passOf({ parts }: OwnerWork, writer: CollectionWriter, again: TellAgain): ActivePass {
  const startedAtMs = writer.progress?.startedAtMs ?? parts.now();
  return {
    stats: newPassStats({ passId: parts.randomId(), mode: 'DELTA', startedAtMs }),
    seen: null,
    seenByOthers: null,
    seenRejects: null,
    stamp: writer.stamp(),
    again,
  };
}
