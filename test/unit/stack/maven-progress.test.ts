import { describe, expect, it } from 'vitest';
import { mavenProgress } from '../../../stack/maven-progress.ts';

const fileDone = 'Downloaded from central: https://repo.example/org/x/x-1.jar (9.8 MB at 21 MB/s)\n';

describe('mavenProgress', () => {
  it('a finished file is counted once, without its last progress', () => {
    const progress = mavenProgress();
    progress.take('Progress (1): 9.1/9.8 MB\r');
    expect(progress.bytes()).toBeCloseTo(9.1e6);
    progress.take(fileDone);
    expect(progress.bytes()).toBeCloseTo(9.8e6);
    expect(progress.files()).toBe(1);
  });

  it('files in progress are all counted, each in its own unit', () => {
    const progress = mavenProgress();
    progress.take(`${fileDone}Progress (3): 19/142 MB | 2.4/3.8 MB | 197 kB\r`);
    expect(progress.bytes()).toBeCloseTo(9.8e6 + 19e6 + 2.4e6 + 197e3);
  });

  it('a line that is cut between two chunks is counted', () => {
    const progress = mavenProgress();
    progress.take(fileDone.slice(0, 40));
    progress.take(fileDone.slice(40));
    expect(progress.bytes()).toBeCloseTo(9.8e6);
  });

  it('other lines of Maven are not counted', () => {
    const progress = mavenProgress();
    progress.take(
      '[INFO] Total time: 6.5 s\n[INFO] 12 MB of nothing\nDownloading from central: https://repo.example/x.pom\n',
    );
    expect(progress.bytes()).toBe(0);
  });
});
