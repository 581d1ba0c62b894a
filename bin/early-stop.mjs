// Handles signals until a verb listens for them. Plain JavaScript that imports nothing: it loads before everything else,
// and an older Node can load it, too.

/** Verbs that run until a signal stops them: for these, a stop is no failure. */
const ENDLESS = new Set(['run', 'hub', 'tail']);
const SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGINT']);

/** @type {(() => void) | null} */
let listener = null;

/**
 * @param {readonly string[]} argv without node and script
 * @returns {number} the exit code when a signal stops the command before it begins
 */
export function earlyExitCode(argv) {
  return ENDLESS.has(verbOf(argv)) ? 0 : 1;
}

/**
 * @param {readonly string[]} argv without node and script
 * @returns {string} the verb that is run; empty without one
 */
export function verbOf(argv) {
  return (
    argv.find(
      (word, index) => !word.startsWith('-') && argv[index - 1] !== '--config' && argv[index - 1] !== '-c',
    ) ?? ''
  );
}

/**
 * From now on SIGTERM and SIGINT end the process at once, which is safe because nothing has begun. Without a listener
 * the first process of a container ignores them, and any other process ends as if it had crashed.
 *
 * @param {readonly string[]} argv without node and script
 */
export function stopEarly(argv) {
  listener = () => {
    const code = earlyExitCode(argv);
    if (code !== 0) process.stderr.write('✗ stopped before it was done\n');
    process.exit(code);
  };
  for (const signal of SIGNALS) process.on(signal, listener);
}

/** Removes these listeners: the verb has its own. */
export function handOverStop() {
  if (listener === null) return;
  for (const signal of SIGNALS) process.off(signal, listener);
  listener = null;
}
