import { expect, it } from 'vitest';
import { mavenProgress } from '../../../stack/maven-progress.ts';

const fileDone = 'Downloaded from central: https://repo.example/org/x/x-1.jar (9.8 MB at 21 MB/s)\n';

it.each([
  ['a finished file once, without its last progress', ['Progress (1): 9.1/9.8 MB\r', fileDone], 9.8e6, 1],
  ['a file in progress', ['Progress (1): 9.1/9.8 MB\r'], 9.1e6, 0],
  [
    'files in progress, each in its own unit',
    [`${fileDone}Progress (3): 19/142 MB | 2.4/3.8 MB | 197 kB\r`],
    9.8e6 + 19e6 + 2.4e6 + 197e3,
    1,
  ],
  ['a line that is cut between two chunks', [fileDone.slice(0, 40), fileDone.slice(40)], 9.8e6, 1],
  [
    'no other lines of Maven',
    ['[INFO] 12 MB of nothing\nDownloading from central: https://r.example/x.pom\n'],
    0,
    0,
  ],
])('the progress of Maven counts %s', (_, chunks, bytes, files) => {
  const progress = mavenProgress();
  for (const chunk of chunks) progress.take(chunk);
  expect(progress.bytes()).toBeCloseTo(bytes);
  expect(progress.files()).toBe(files);
});
