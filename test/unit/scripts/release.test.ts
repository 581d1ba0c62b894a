import { expect, it } from 'vitest';
import { datedChangelog, disagreements, newestVersion, releaseNotes } from '../../../scripts/release.ts';

const SECOND = '## [0.2.0] - 2027-01-02\n\n### Added\n\n- Two.\n\n';
const RELEASED = `# Changelog\n\n${SECOND}## [0.1.0] - 2026-11-26\n\nThe first version.\n`;
const WAITING = RELEASED.replace(SECOND, `## [Unreleased]\n\n- Three.\n\n${SECOND}`);

it('a version has its own section of the changelog as notes, and must have one', () => {
  expect(releaseNotes(RELEASED, '0.2.0')).toBe('### Added\n\n- Two.');
  expect(releaseNotes(RELEASED, '0.1.0')).toBe('The first version.');
  expect(() => releaseNotes(RELEASED, '0.3.0')).toThrow('says nothing about 0.3.0');
});

it('unreleased changes become the new version, and without such changes there is no version', () => {
  const changelog = datedChangelog(WAITING, '0.3.0', '2027-02-03');
  expect(changelog).toContain(`## [0.3.0] - 2027-02-03\n\n- Three.\n\n${SECOND}`);
  expect(newestVersion(changelog)).toBe('0.3.0');
  expect(() => datedChangelog(RELEASED, '0.3.0', '2027-02-03')).toThrow('[Unreleased]');
});

it('a file with another version than package.json, or an unreleased change, stops a release', () => {
  const changelog = newestVersion(WAITING);
  const named = { 'package.json': '0.1.0', same: '0.1.0', chart: '0.2.0', tag: undefined, changelog };
  expect(disagreements(named)).toEqual([
    'chart names 0.2.0, package.json 0.1.0',
    'tag names no version, package.json 0.1.0',
    'changelog names Unreleased, package.json 0.1.0',
  ]);
});
