import { didYouMean } from '../did-you-mean.ts';
import { isJsonObject } from './raw-json.ts';

/** If a field is in several of these settings, the last one of them counts. */
const KINDS = ['ignore', 'drop', 'pseudonymise'] as const;

/**
 * Finds settings of a collection that match nothing at the hub, and are therefore probably mistyped: fields that no row
 * has, and afterschools that the hub does not know. A field of the specification is never reported, because it is
 * spelled right.
 */
export class UnmetSettings {
  readonly #fields: Map<string, string>;
  readonly #known: readonly string[];
  readonly #parents = new Set<string>();
  #hasRows = false;

  /** `known`: the fields of the specification. */
  constructor(
    settings: Readonly<Record<(typeof KINDS)[number], readonly string[]>>,
    known: readonly string[],
  ) {
    this.#known = known;
    this.#fields = new Map(
      KINDS.flatMap((kind) =>
        settings[kind].filter((field) => !known.includes(field)).map((field) => [field, kind] as const),
      ),
    );
  }

  noteRow(row: unknown): void {
    this.#hasRows = true;
    if (!isJsonObject(row)) return;
    for (const field of this.#fields.keys()) if (Object.hasOwn(row, field)) this.#fields.delete(field);
  }

  noteParent(id: string, isFound: boolean): void {
    if (isFound) this.#parents.delete(id);
    else this.#parents.add(id);
  }

  /** A sentence about each such setting, judged by the rows that were noted so far. */
  get sentences(): readonly string[] {
    const parents = [...this.#parents].map((id) => `afterschools: the hub does not know ${id}`);
    return [...this.ofFields('drop', 'pseudonymise'), ...this.ofFields('ignore'), ...parents];
  }

  /** The sentences about the fields of these settings. */
  ofFields(...kinds: readonly string[]): readonly string[] {
    return [...(this.#hasRows ? this.#fields : [])]
      .filter(([, kind]) => kinds.includes(kind))
      .map(([field, kind]) => `${kind}: no row has the field ${field}${didYouMean(field, this.#known)}`);
  }
}

/** What to do about a setting that matches nothing at the hub. */
export const UNMET_REMEDY =
  'Correct the name in the configuration, or remove it. Until then this setting has no effect.';
