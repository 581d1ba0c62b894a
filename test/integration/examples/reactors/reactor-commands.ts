import { readFileSync, writeFileSync } from 'node:fs';
import { inject } from 'vitest';
import { findMaven } from '../../../../stack/java-tools.ts';
import { exampleFile, type Program } from '../example-process.ts';
import { PYTHON, succeed } from '../python.ts';

/** Where a reactor reads, and where it keeps its effects and positions. */
export interface ReactorPlace {
  /** `<prefix>.<tenant>`. */
  readonly topics: string;
  readonly file: string;
  readonly groupId: string;
}

export type ReactorCommand = (place: ReactorPlace) => Program;

/** Hours. The days of the district are long past by the clock of this machine. */
const NEVER_TOO_LATE = '10000000';

function flags({ topics, file, groupId }: ReactorPlace): string[] {
  return ['--topics', topics, '--db', file, '--group', groupId, '--too-late-after', NEVER_TOO_LATE];
}

export const inTypeScript: ReactorCommand = (place) => ({
  name: 'react-once.ts',
  command: process.execPath,
  args: [exampleFile('react-once/react-once.ts'), ...flags(place)],
});

export const inPython: ReactorCommand = (place) => ({
  name: 'react_once.py',
  command: PYTHON,
  args: [exampleFile('python/react_once.py'), ...flags(place)],
});

/** The libraries come from Maven Central. */
export async function buildJava(): Promise<void> {
  await succeed(findMaven(), ['-B', '-q', '-f', exampleFile('java/pom.xml'), 'package']);
}

export const inJava: ReactorCommand = ({ topics, file, groupId }) => {
  const { kafkaBrokers, registryUrl } = inject('stack');
  const settings = readFileSync(exampleFile('java/consumer.properties'), 'utf8')
    .replace('localhost:9092', kafkaBrokers.join(','))
    .replace('http://localhost:8081', new URL(registryUrl).origin);
  writeFileSync(`${file}.properties`, settings);
  return {
    name: 'react-once.jar',
    command: 'java',
    args: [
      '-Xmx128m',
      '-jar',
      exampleFile('java/target/react-once.jar'),
      `${file}.properties`,
      file,
      groupId,
    ],
    env: { ROLLCALL_TOPICS: topics, TOO_LATE_AFTER_HOURS: NEVER_TOO_LATE },
  };
};
