import { describe, expect, it } from 'vitest';
import { datedChangelog, disagreements, newestVersion, releaseNotes } from '../../../scripts/release.ts';

const RELEASED = `# Changelog

## [0.2.0] - 2027-01-02

### Added

- Two.

## [0.1.0] - 2026-11-26

The first version.
`;
const WAITING = RELEASED.replace('## [0.2.0]', '## [Unreleased]\n\n- Three.\n\n## [0.2.0]');

describe('the changelog of a release', () => {
  it('gives a version its own section as notes, without the heading', () => {
    expect(releaseNotes(RELEASED, '0.2.0')).toBe('### Added\n\n- Two.');
    expect(releaseNotes(RELEASED, '0.1.0')).toBe('The first version.');
  });

  it('gives no notes to a version that it does not name', () => {
    expect(() => releaseNotes(RELEASED, '0.3.0')).toThrow('says nothing about 0.3.0');
  });

  it('gives the changes that wait to the new version, and leaves the others', () => {
    const changelog = datedChangelog(WAITING, '0.3.0', '2027-02-03');
    expect(changelog).toContain('## [0.3.0] - 2027-02-03\n\n- Three.\n\n## [0.2.0] - 2027-01-02\n');
    expect(newestVersion(changelog)).toBe('0.3.0');
  });

  it('has no new version while nothing waits', () => {
    expect(() => datedChangelog(RELEASED, '0.3.0', '2027-02-03')).toThrow('[Unreleased]');
  });
});

describe('the versions of a release', () => {
  it('agree when every place names that of package.json', () => {
    expect(disagreements({ 'package.json': '0.1.0', 'the tag': '0.1.0' })).toEqual([]);
  });

  it('disagree where a place names another, or none, or changes wait in the changelog', () => {
    const named = {
      'package.json': '0.1.0',
      chart: '0.2.0',
      tag: undefined,
      changelog: newestVersion(WAITING),
    };
    expect(disagreements(named)).toEqual([
      'chart names 0.2.0, package.json 0.1.0',
      'tag names no version, package.json 0.1.0',
      'changelog names Unreleased, package.json 0.1.0',
    ]);
  });
});
