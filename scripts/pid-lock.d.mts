export interface PidLockOptions {
  /** Called once, when the lock is not free. */
  onWait?: ((ownerPid: number) => void) | undefined;
}

/** Runs `work` under a lock file with its owner's pid; waits for a running owner, and takes over from a dead one. */
export function withPidLock<T>(file: string, work: () => Promise<T>, options?: PidLockOptions): Promise<T>;
