import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../../scripts/commit-subjects.mjs', import.meta.url));
const env = { ...process.env, GITHUB_BASE_REF: '' };

let folder: string;
const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, env, stdio: 'ignore' });
const commit = (subject: string) =>
  git('-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '--allow-empty', '-m', subject);

function check(range: string[], base = ''): { code: number | null; output: string } {
  const { status, stdout } = spawnSync(process.execPath, [script, ...range], {
    cwd: folder,
    env: { ...env, GITHUB_BASE_REF: base },
    encoding: 'utf8',
  });
  return { code: status, output: stdout };
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-commits-'));
  git('init', '-b', 'main');
  commit('ø'.repeat(80));
  git('update-ref', 'refs/remotes/origin/main', 'HEAD');
  commit('ø'.repeat(72));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the subjects of commits', () => {
  it('may have 72 characters, however many bytes those are', () => {
    expect(check(['HEAD~1..HEAD'])).toEqual({ code: 0, output: 'commits: 1 subjects, 0 too long\n' });
  });

  it('must not have more', () => {
    expect(check(['HEAD'])).toMatchObject({ code: 1, output: expect.stringContaining('1 too long') });
  });

  it('of a pull request are those that its base does not have', () => {
    expect(check([], 'main').code).toBe(0);
  });

  it('fail the check where a pull request has no base, and pass where nothing says what is new', () => {
    expect(check([], 'nowhere').code).toBe(1);
    expect(check([])).toMatchObject({ code: 0, output: expect.stringContaining('NOT CHECKED') });
  });
});
