import { didYouMean } from '../did-you-mean.ts';
import { isJsonObject } from './raw-json.ts';

/** The kind of a field that several have is the last one. */
const KINDS = ['ignore', 'drop', 'pseudonymise'] as const;

/**
 * Settings of a collection that nothing at the hub fits, and that are therefore probably mistyped: fields that no row
 * has, and parents that the hub does not find. A field of the specification is spelled right, whether the hub has it or not.
 */
export class UnmetSettings {
  readonly #fields: Map<string, string>;
  readonly #known: readonly string[];
  readonly #parents = new Set<string>();
  #hasRows = false;

  /** `known`: the names of the specification's fields. */
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

  /** What to say of each, as far as rows have been read. */
  get sentences(): readonly string[] {
    const parents = [...this.#parents].map((id) => `afterschools: the hub does not know ${id}`);
    return [...this.ofFields('drop', 'pseudonymise'), ...this.ofFields('ignore'), ...parents];
  }

  /** Those about the fields of these settings. */
  ofFields(...kinds: readonly string[]): readonly string[] {
    return [...(this.#hasRows ? this.#fields : [])]
      .filter(([, kind]) => kinds.includes(kind))
      .map(([field, kind]) => `${kind}: no row has the field ${field}${didYouMean(field, this.#known)}`);
  }
}

/** What to do about such a setting. */
export const UNMET_REMEDY =
  'Correct the name in the configuration, or remove it. Until then this setting does nothing.';
