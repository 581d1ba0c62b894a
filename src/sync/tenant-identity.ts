import { acceptCommand, WRONG_TENANT_REMEDY } from '../core/health/decisions.ts';
import { concernsOneRequest, LargeAnswer } from '../hub/hub-error.ts';
import { RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import { mayBeOfOneScope } from './scope-answers.ts';
import type { MirroredCollection, RunningSync } from './sync.ts';

/**
 * Ends an incremental sync if a full sync is better: because it would bring most of the collection (`isOversized` in
 * core/watermark.ts decides this), or because its rows may be another tenant's, which only a full sync can tell
 * ({@link identityGate} decides this). Only {@link runSync} catches it, and turns it into a result.
 */
export class BecomesFull extends Error {}

/** A collection with fewer published rows does not identify its tenant (design, "Another tenant's data"). */
const KNOWN_ROWS_AT_LEAST = 5;
/** The share of the rows that must be known, 0 to 1: of the rows read, or of the known rows if these are fewer. */
const OVERLAP_AT_LEAST = 0.1;

/**
 * Whether enough of the rows read are published rows, so that they are this tenant's and not another's (because of a
 * wrong base URL, or mixed-up credentials). A collection that has grown many times over still counts as this
 * tenant's.
 */
export function overlapsEnough(read: {
  readonly rows: number;
  readonly knownAmongThem: number;
  /** Rows that were published before this sync. */
  readonly knownRows: number;
}): boolean {
  if (read.rows === 0) return true;
  const enough = Math.min(read.rows, read.knownRows) * OVERLAP_AT_LEAST;
  return read.knownAmongThem > 0 && read.knownAmongThem >= enough;
}

/** How many published rows to ask the hub for. A hub that shows none of them serves another tenant. */
const ROWS_ASKED = 3;
/**
 * A collection that has grown many times over brings pages of new rows, one after another. One answer of the hub
 * accepts at most this many of them, the first one included.
 */
const PAGES_PER_ANSWER = 10;

/** The keys that a sync asks for. They are chosen once, because rows that the sync has published since may be another tenant's. */
type ProofKeys = Map<MirroredCollection, readonly string[]>;

/** Requests by the keys of other rows, or by student, cannot return another tenant's rows. */
function mayBeForeign({ source }: MirroredCollection): boolean {
  return source.parents === undefined && source.changedScopes === undefined;
}

/** Other tenants may have the same schools or courses; nobody has the same people. */
const OF_PEOPLE: ReadonlySet<CollectionName> = new Set(['users', 'students', 'teachers']);

/**
 * Whether the hub still has this tenant's rows. It is asked for rows of the collection itself, and for the tenant's
 * people, who stay when a new year gives each class another id. If the collection has too few published rows, it is
 * asked for rows of any other collection. The first other collection for which the hub answers decides. If there is no
 * collection to ask for, returns true, unless some collection is already marked as possibly another tenant's. Throws
 * errors that concern the hub, not a single request.
 */
export async function showsOwnRows(
  own: MirroredCollection,
  signal: AbortSignal,
  proofKeys: ProofKeys = new Map(),
): Promise<boolean> {
  const all = [...own.all.values()];
  const enough = all.filter((each) => mayBeForeign(each) && each.writer.known.rows >= KNOWN_ROWS_AT_LEAST);
  const others = enough.filter((each) => each !== own && !each.deletions.isForeign);
  const people = others.filter(({ settings }) => OF_PEOPLE.has(settings.name));
  const proofs = new Set(enough.includes(own) ? [own, ...people] : [...people, ...others]);
  if (proofs.size === 0) return !all.some(({ deletions }) => deletions.isForeign);
  for (const proof of proofs) {
    try {
      if ((await showsOne(proof, signal, proofKeys)) || (await beginsWithKnown(proof, signal))) return true;
      if (proof !== own) return false;
    } catch (error) {
      // If the hub refuses another collection, or no longer offers it, this proves nothing.
      if (!concernsOneRequest(error)) throw error;
    }
  }
  return false;
}

async function showsOne(proof: MirroredCollection, signal: AbortSignal, proofKeys: ProofKeys) {
  const { writer, source, deletions } = proof;
  // A row that is missing at this tenant's own hub would prove nothing.
  const isThere = (key: string): boolean => !deletions.has(key);
  const keys = proofKeys.get(proof) ?? (await writer.read((table) => table.someKeys(ROWS_ASKED, isThere)));
  proofKeys.set(proof, keys);
  try {
    const shown = await source.fetchRows?.(keys, { readVersion: writer.readVersion, signal });
    return (shown?.length ?? 0) > 0;
  } catch (error) {
    if (concernsOneRequest(error)) return false;
    throw error;
  }
}

/** Whether enough rows on the first page of a list are published rows. It helps with hubs that do not answer for single rows. */
async function beginsWithKnown(
  { source, writer }: MirroredCollection,
  signal: AbortSignal,
): Promise<boolean> {
  const { readVersion, known } = writer;
  const { scopes, open } = await source.begin();
  let unanswered: RollcallError | null = null;
  for (const scope of scopes) {
    const pages = open(scope, { modifiedAfterMs: undefined, readVersion, signal, refuseLarge: true });
    try {
      const first = await pages.next();
      if (first.done === true) continue;
      const keys = first.value.rows.flatMap(({ key }) => key ?? []);
      const hashes = await writer.read((table) => table.hashesOf(keys));
      const knownAmongThem = keys.filter((key) => hashes.get(key) != null).length;
      if (keys.length > 0 && overlapsEnough({ rows: keys.length, knownAmongThem, knownRows: known.rows }))
        return true;
    } catch (error) {
      if (!mayBeOfOneScope(error)) throw error;
      if (!(error instanceof LargeAnswer)) unanswered = error;
    } finally {
      await pages.return(undefined as never).catch(() => undefined);
    }
  }
  // A scope without an answer might have shown known rows, so this proves nothing.
  if (unanswered !== null) throw unanswered;
  return false;
}

/**
 * Stops another tenant's rows before any of them is published (design, "Another tenant's data"). A page passes if
 * enough of its rows are published rows. Before any other page passes, the gate asks whether the hub still has
 * published rows. If it has not, a full sync throws `HUB_FOREIGN_DATA`, and an incremental sync throws {@link
 * BecomesFull}.
 */
export function identityGate({ own, sync, options, knownRowsBefore }: RunningSync) {
  /** True if the rows cannot be another tenant's, or a person has accepted them. */
  let isOpen = !mayBeForeign(own);
  const proofKeys: ProofKeys = new Map();
  /** How many more pages the last answer of the hub accepts. */
  let pagesLeft = 0;

  /** Whether a page may be published without {@link prove}. `knownAmongThem`: how many of its rows are published already. */
  const passes = (rows: number, knownAmongThem: number): boolean => {
    if (isOpen) return true;
    if (overlapsEnough({ rows, knownAmongThem, knownRows: knownRowsBefore })) return true;
    pagesLeft -= 1;
    return pagesLeft >= 0;
  };

  /** Called before a page of new rows, which may be another tenant's. An incremental sync would take these rows for changes. */
  const prove = async (): Promise<void> => {
    if (options.acceptNew === true) {
      isOpen = true;
      const at = { collection: own.settings.name, atMs: own.tenant.runtime.now() };
      if (knownRowsBefore > 0) own.deletions.decide({ ...at, ...options.person, kind: 'accepted' });
      return;
    }
    if (await showsOwnRows(own, options.signal, proofKeys)) {
      // Hardly any page of a first load has a published row, so the proof for the first page counts for all pages.
      isOpen = knownRowsBefore === 0;
      pagesLeft = PAGES_PER_ANSWER - 1;
      return;
    }
    if (!sync.isFull) throw new BecomesFull();
    own.deletions.noteForeign(own.tenant.runtime.now());
    const what =
      `The rows that the hub returned for ${own.settings.name} may be another tenant's: almost none of them match the ${knownRowsBefore} ` +
      `already published, and the hub shows none of the published rows that Rollcall asked for`;
    const remedy = `None of these rows was published. ${WRONG_TENANT_REMEDY}: ${acceptCommand(own.tenant.tenantId)}`;
    throw new RollcallError('HUB_FOREIGN_DATA', what, { remedy });
  };

  return { passes, prove };
}

export type IdentityGate = ReturnType<typeof identityGate>;
