/**
 * Calls `end` when the parent process has ended: a killed npm or npx does not signal its scripts, which would keep
 * running.
 *
 * @param {() => void} end
 */
export function whenOrphaned(end) {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    end();
  }, 500);
  watch.unref();
}
