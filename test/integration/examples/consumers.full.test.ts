import { beforeAll, expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { withAdmin } from '../support/stack-kafka.ts';
import { buildPython, exampleFile, PYTHON, startProgram } from './example-process.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'] as const;

beforeAll(buildPython, 600_000);

it.each([
  ['consumer.ts', 'example', process.execPath, exampleFile('consumer/consumer.ts')],
  ['consumer.py', 'example-python', PYTHON, exampleFile('python/consumer.py')],
])(
  'the example %s prints each change after its first start, also after a stop',
  async (_, groupId, ...command) => {
    await using mirror = await openMirror({ collections: COLLECTIONS });
    const { district, clock } = mirror.hub;
    const student = district.ids('students')[0] ?? '';
    const change = async (): Promise<string> => {
      const absence = { student, fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-10T09:00:00Z' };
      const id = district.registerAbsence(absence);
      clock.advance(60_000);
      await mirror.incremental();
      return id;
    };
    const topics = `${mirror.topicPrefix}.${mirror.tenantId}`;
    const start = () => startProgram(command, { ROLLCALL_TOPICS: topics });
    const hasBegun = (): Promise<boolean> =>
      withAdmin(async (admin) => {
        const [stored] = await admin.fetchOffsets({ groupId, topics: [`${topics}.absence-changes`] });
        return stored?.partitions.some(({ offset }) => offset !== '-1') === true;
      });
    await mirror.full();
    const old = await change();
    {
      await using first = start();
      await first.until('its group has positions', hasBegun);
      await first.says(`CREATED ${await change()}`);
      expect(first.output()).not.toContain(old);
    }
    const missed = await change();
    await using second = start();
    await second.says(`CREATED ${missed}`);
    expect(second.output()).not.toContain(old);
  },
);
