// Signals in the time before a verb listens. Plain JavaScript that imports nothing: it comes before everything else,
// and an older Node loads it too.

/** Verbs that run until they are stopped: for these, being stopped is no failure. */
const ENDLESS = new Set(['run', 'hub', 'tail']);
const SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGINT']);

/** @type {(() => void) | null} */
let listener = null;

/**
 * @param {readonly string[]} argv without node and script
 * @returns {number} what the command line ends with when it is stopped before it has begun
 */
export function earlyExitCode(argv) {
  const verb = argv.find(
    (word, index) => !word.startsWith('-') && argv[index - 1] !== '--config' && argv[index - 1] !== '-c',
  );
  return verb !== undefined && ENDLESS.has(verb) ? 0 : 1;
}

/**
 * From now on SIGTERM and SIGINT end the process at once, in order: nothing has begun yet. Without a listener the first
 * process of a container would not hear them at all, and any other would end as if it had crashed.
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

/** Ends that: somebody else listens now. */
export function handOverStop() {
  if (listener === null) return;
  for (const signal of SIGNALS) process.off(signal, listener);
  listener = null;
}
