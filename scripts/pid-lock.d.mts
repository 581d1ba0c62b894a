export interface PidLockOptions {
  /** Called once, if there is a wait. */
  onWait?: ((ownerPid: number) => void) | undefined;
  pollIntervalMs?: number | undefined;
}

/** Runs `work` while holding the lock file, which names its owner's pid; waits for a living owner, takes over from a dead one. */
export function withPidLock<T>(file: string, work: () => Promise<T>, options?: PidLockOptions): Promise<T>;
