/** A stack that cannot be started, in words meant for the person at the keyboard. */
export class StackError extends Error {
  override name = 'StackError';
}
