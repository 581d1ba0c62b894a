// Prints "<passed> <failed>" from a report of vitest's JSON reporter. A test file that does not load counts as one
// failure, and so does a missing or unreadable report.
import { readFileSync } from 'node:fs';

/** @param {string} file */
function count(file) {
  const report = JSON.parse(readFileSync(file, 'utf8'));
  const unloaded = report.testResults.filter(
    (/** @type {{ status: string, assertionResults: { status: string }[] }} */ result) =>
      result.status === 'failed' && !result.assertionResults.some((test) => test.status === 'failed'),
  );
  return { passed: report.numPassedTests, failed: report.numFailedTests + unloaded.length };
}

try {
  const { passed, failed } = count(process.argv[2] ?? '');
  process.stdout.write(`${passed} ${failed}\n`);
} catch (error) {
  process.stderr.write(`no readable test report: ${error.message}\n`);
  process.stdout.write('0 1\n');
}
