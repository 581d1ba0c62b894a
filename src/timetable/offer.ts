import type { CollectionName } from '../model/collections.ts';
import { HubError } from '../hub/hub-error.ts';
import type { DeletionMemory } from '../state/index-store.ts';

/** State of the parents' collection: `ready` has had a complete full sync, `waiting` has not. */
export type ParentState = 'ready' | 'waiting' | 'not-offered';

/**
 * Whether the hub offers a collection, for `pull`, `status` and readiness. It is stored beside the index, so that `status`
 * knows it when no process runs.
 */
export class Offer {
  readonly #collection: CollectionName;
  readonly #memory: DeletionMemory;
  #isNotOffered: boolean;
  #isReported = false;

  /** `isNotOffered`: the stored state. */
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

/** `runner`: the one of the parents' collection. */
export function parentState(
  isComplete: boolean,
  runner: { readonly isNotOffered: boolean } | undefined,
): ParentState {
  if (isComplete) return 'ready';
  return runner?.isNotOffered === true ? 'not-offered' : 'waiting';
}

/** When the hub does not offer the parents' collection, it does not offer the nested one either. */
export function parentNotOffered(collection: CollectionName, parent: CollectionName): HubError {
  return new HubError(
    'HUB_NOT_OFFERED',
    `${collection} cannot be read: the hub does not offer ${parent}, whose ids the requests need`,
    { remedy: `Remove ${collection} from the configuration; the others are mirrored anyway.` },
  );
}
