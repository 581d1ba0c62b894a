// Prints "<passed> <failed>" from a report of vitest's JSON reporter, then a line for each failed test: its file, its name
// and the first line of its error. A test file that does not load counts as one failure, and so does a missing or
// unreadable report.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** @typedef {{ status: string, fullName: string, failureMessages: string[] }} Test */
/** @typedef {{ name: string, status: string, message: string, assertionResults: Test[] }} TestFile */

/** @param {TestFile} file @returns {string[]} */
function failuresOf({ name, status, message, assertionResults }) {
  const file = relative('.', name);
  const failed = assertionResults.filter((test) => test.status === 'failed');
  if (status === 'failed' && failed.length === 0) return [`${file}: did not load: ${firstLine(message)}`];
  return failed.map((test) => `${file}: ${test.fullName}: ${firstLine(test.failureMessages[0] ?? '')}`);
}

/** @param {string} text */
const firstLine = (text) => text.split('\n', 1)[0];

try {
  const report = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
  const failures = report.testResults.flatMap(failuresOf);
  process.stdout.write([`${report.numPassedTests} ${failures.length}`, ...failures, ''].join('\n'));
} catch (error) {
  process.stdout.write(`0 1\nno readable test report: ${error.message}\n`);
}
