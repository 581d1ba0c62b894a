import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A value that no log, error or dump may show (invariant 9): every form of output prints `[redacted]`.
 * Only {@link Secret.reveal} returns it; call it where the value is sent, not before, because it may change: a secret
 * that comes from a file follows the file.
 */
export class Secret {
  #value: string;
  #beforeReveal: () => void = () => undefined;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    this.#beforeReveal();
    return this.#value;
  }

  /** Calls `update` before each use; it may replace the value. */
  follow(update: () => void): void {
    this.#beforeReveal = update;
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
