import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../../scripts/commit-subjects.mjs', import.meta.url));
const cwd = mkdtempSync(join(tmpdir(), 'rollcall-commits-'));
const git = (...args: string[]) => execFileSync('git', args, { cwd, stdio: 'ignore' });
const commit = (subject: string) =>
  git('-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '--allow-empty', '-m', subject);

git('init', '-b', 'main');
commit('ø'.repeat(80));
git('update-ref', 'refs/remotes/origin/main', 'HEAD');
commit('ø'.repeat(72));
afterAll(() => rmSync(cwd, { recursive: true }));

it.each([
  ['of 72 characters, however many bytes those are, pass', ['HEAD~1..HEAD'], '', 0, '1 subjects, 0 too long'],
  ['of more than 72 characters do not pass', ['HEAD'], '', 1, '1 too long'],
  ['of a pull request are those that its base does not have', [], 'main', 0, '1 subjects'],
  ['fail where a pull request has no base', [], 'nowhere', 1, ''],
  ['are not checked where nothing says what is new', [], '', 0, 'NOT CHECKED'],
])('the subjects of commits %s', (_, range, base, code, says) => {
  const env = { ...process.env, GITHUB_BASE_REF: base };
  const { status, stdout } = spawnSync(process.execPath, [script, ...range], { cwd, env, encoding: 'utf8' });
  expect([status, stdout]).toEqual([code, expect.stringContaining(says)]);
});
