/**
 * Ends an incremental sync that a full one serves better: it would bring most of the collection, or rows that only a
 * full sync can distinguish from another tenant's (`isOversized` in core/watermark.ts, and identity-gate.ts decide). Only
 * {@link runSync} catches it, and turns it into a result.
 */
export class BecomesFull extends Error {
  constructor() {
    super('the incremental sync becomes a full one');
  }
}
