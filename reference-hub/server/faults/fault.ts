import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../json.ts';
import type { CollectionQuery } from '../collection-query.ts';
import type { Comparison } from '../filter.ts';
import type { PageLinks } from '../page-links.ts';
import type { Reply } from '../reply.ts';

/** What a fault may look at. */
export interface FaultContext {
  /** Collection or endpoint, as in `target` of the request log. */
  readonly target: string;
  readonly url: URL;
  /** The fault's value, or its default. */
  readonly value: string;
  readonly random: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** A page before it becomes bytes. */
export interface Page {
  /** Rows as JSON, each after a comma. */
  rows: Buffer[];
  envelope: string | undefined;
  total: number | undefined;
  /** Rows of the collection whatever the filter, and rows behind the cursor; some hubs send these as the total. */
  readonly unfilteredTotal: number;
  readonly remainingTotal: number;
  links: PageLinks;
  status: number;
}

/**
 * One way in which a hub can misbehave or differ. Each part is optional and is called at its place while a request is
 * served; a fault says in one line what a client then sees.
 */
export interface Fault {
  readonly name: string;
  readonly summary: string;
  /** What the value means and what it is if not given; undefined: takes none. */
  readonly value?: { readonly meaning: string; readonly byDefault: string } | undefined;
  /** Before anything else; a reply ends the matter. */
  readonly request?: (context: FaultContext) => Promise<Reply | undefined> | Reply | undefined;
  /** Query parameters as the hub understands them; the links keep what the client sent. */
  readonly parameters?: (parameters: URLSearchParams, context: FaultContext) => void;
  readonly query?: (query: CollectionQuery, context: FaultContext) => void;
  readonly comparison?: Partial<Comparison>;
  readonly row?: (row: JsonObject, context: FaultContext) => JsonObject;
  /** After `row`: the row's JSON text. */
  readonly rowText?: (text: string, context: FaultContext) => string;
  readonly page?: (page: Page, context: FaultContext) => void;
  readonly reply?: (reply: Reply, context: FaultContext) => void;
  /** Takes over the sending. */
  readonly send?: (
    response: ServerResponse,
    options: { reply: Reply; context: FaultContext },
  ) => Promise<void>;
}

export function numberIn(value: string): number {
  const number = Number(value);
  return Number.isFinite(number) ? number : 0;
}
