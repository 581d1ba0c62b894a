/**
 * Ends an incremental sync that a full one serves better: it would bring most of the collection, or rows that only a
 * full sync can tell from another tenant's. {@link runSync} turns it into a result; nobody else meets it.
 */
export class BecomesFull extends Error {
  constructor() {
    super('the incremental sync becomes a full one');
  }
}
