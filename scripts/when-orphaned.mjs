/**
 * Calls `end` when the process that started this one is gone: npm and npx that are killed tell nobody, and their scripts
 * would go on without them.
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
