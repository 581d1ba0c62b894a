import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A value that no log, error or dump may show (invariant 9): every form of output prints `[redacted]`.
 * Only {@link Secret.reveal} returns it; call it where the value is sent, not before, because it may change: a running
 * process takes up a rotated one.
 */
export class Secret {
  #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  replace(value: string): void {
    this.#value = value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
