import type { RememberedPage } from '../core/pages/page-memory.ts';
import { parseBody, type HubAnswer } from './hub-answer.ts';
import type { HubPage } from './hub.ts';
import { listIn } from './page-body.ts';

/** A page that was recognised: its rows are parsed only if somebody reads them. */
export class KnownPage implements HubPage {
  readonly known: RememberedPage;
  readonly isUtf8 = true;
  readonly hubTimeMs: number | null;
  readonly total: number | null;
  readonly readVersion: number;
  readonly bytes: number;
  readonly #raw: Buffer;
  readonly #list: { readonly envelope: string; readonly where: string };
  #rows: readonly unknown[] | null = null;

  constructor(known: RememberedPage, answer: HubAnswer, list: { envelope: string; where: string }) {
    this.known = known;
    this.hubTimeMs = answer.hubTimeMs;
    this.total = answer.total;
    this.readVersion = answer.readVersion;
    this.bytes = answer.bytes;
    this.#raw = answer.raw;
    this.#list = list;
  }

  get rows(): readonly unknown[] {
    this.#rows ??= listIn(parseBody(this.#raw.toString('utf8')), this.#list) ?? [];
    return this.#rows;
  }
}
