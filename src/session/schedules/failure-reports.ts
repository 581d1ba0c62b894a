import type { RollcallError } from '../../errors.ts';
import type { SyncMode } from '../../model/progress.ts';
import type { Emit } from '../../core/pipeline-events.ts';
import type { Offer } from '../../timetable/offer.ts';
import { SCHEDULES, type Round } from './schedule-syncs.ts';

/** Emits the events that say why schedules cannot be read. */
export class FailureReports {
  readonly #parts: { readonly emit: Emit; readonly now: () => number; readonly offer: Offer };
  readonly #syncs: { readonly round: Round | null };

  /** `syncs` gives the round under way. */
  constructor(
    parts: { readonly emit: Emit; readonly now: () => number; readonly offer: Offer },
    syncs: { readonly round: Round | null },
  ) {
    this.#parts = parts;
    this.#syncs = syncs;
  }

  report(error: RollcallError, retryInMs: number): void {
    this.#parts.emit({ type: 'pass-failed', ...this.#failed(error), retryInMs });
  }

  async reportNotOffered(error: RollcallError): Promise<void> {
    const isNews = await this.#parts.offer.noteNotOffered();
    this.#parts.emit({ type: 'not-offered', ...this.#failed(error), isNews });
  }

  #failed(error: RollcallError) {
    const { round } = this.#syncs;
    const mode: SyncMode = round?.isHurried === true ? 'FULL' : 'DELTA';
    const durationMs = round === null ? 0 : this.#parts.now() - round.startedAtMs;
    return { collection: SCHEDULES, error, mode, durationMs };
  }
}
