import type { CollectionName } from '../model/collections.ts';
import { HubError } from '../hub/hub-error.ts';
import type { DeletionMemory } from '../state/index-store.ts';

/** Where the collection stands that another one's requests come from: read whole, not yet, or not at this hub. */
export type ParentState = 'ready' | 'waiting' | 'not-offered';

/**
 * Whether the hub offers a collection, as `pull`, `status` and readiness all count it. Remembered beside the index, so
 * that `status` knows it while no process runs.
 */
export class Offer {
  readonly #collection: CollectionName;
  readonly #memory: DeletionMemory;
  #isNotOffered: boolean;
  #isReported = false;

  /** `isNotOffered`: as the memory has it. */
  constructor(collection: CollectionName, memory: DeletionMemory, isNotOffered: boolean) {
    this.#collection = collection;
    this.#memory = memory;
    this.#isNotOffered = isNotOffered;
  }

  get isNotOffered(): boolean {
    return this.#isNotOffered;
  }

  /** Returns whether this process reports it for the first time since the hub last offered the collection. */
  async noteNotOffered(): Promise<boolean> {
    const isNews = !this.#isReported;
    this.#isReported = true;
    if (!this.#isNotOffered) await this.#memory.setNotOffered(this.#collection, true);
    this.#isNotOffered = true;
    return isNews;
  }

  async noteOffered(): Promise<void> {
    this.#isReported = false;
    if (this.#isNotOffered) await this.#memory.setNotOffered(this.#collection, false);
    this.#isNotOffered = false;
  }
}

/** `runner`: the parents'. */
export function parentState(
  isComplete: boolean,
  runner: { readonly isNotOffered: boolean } | undefined,
): ParentState {
  if (isComplete) return 'ready';
  return runner?.isNotOffered === true ? 'not-offered' : 'waiting';
}

/** The hub does not offer the collection whose rows say what to ask for, so it does not offer this one either. */
export function parentNotOffered(collection: CollectionName, parent: CollectionName): HubError {
  return new HubError(
    'HUB_NOT_OFFERED',
    `${collection} cannot be read: the hub does not offer ${parent}, which says what to ask for`,
    { remedy: `Leave ${collection} out of the configuration; the others are mirrored all the same.` },
  );
}
