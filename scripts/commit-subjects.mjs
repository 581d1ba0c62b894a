// Fails for a commit whose subject is too long.
//   node scripts/commit-subjects.mjs [range]
// Without a range: what a pull request adds, or else what is not pushed yet.
import { spawnSync } from 'node:child_process';

const base = process.env.GITHUB_BASE_REF;
const given = process.argv[2] ?? (base ? `origin/${base}..HEAD` : undefined);

const print = (/** @type {string} */ line) => process.stdout.write(`commits: ${line}\n`);

const log = ['log', '--no-merges', '--format=%h %s', given ?? '@{upstream}..HEAD', '--'];
const { status, stdout, stderr } = spawnSync('git', log, { encoding: 'utf8' });
if (status === 0) {
  const commits = stdout.split('\n').filter((line) => line !== '');
  const tooLong = commits.filter((line) => /^\S+ .{73,}/u.test(line));
  for (const line of tooLong) print(`a subject of more than 72 characters: ${line}`);
  print(`${commits.length} subjects, ${tooLong.length} too long`);
  process.exitCode = tooLong.length === 0 ? 0 : 1;
} else if (given === undefined) {
  print('NOT CHECKED: this branch has no upstream that says what is new');
} else {
  print(stderr.trim());
  process.exitCode = 1;
}
