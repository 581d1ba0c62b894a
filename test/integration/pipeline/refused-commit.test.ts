import { expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { setTopicSettings } from '../support/stack-kafka.ts';

it('after a commit that Kafka refused, another collection says that nothing was sent, and no outcome is unknown', async () => {
  await using mirror = await openMirror({ collections: ['users', 'courses'] });
  await mirror.full('courses');
  await setTopicSettings(mirror.topic('users'), { 'max.message.bytes': '1000' });
  const [refused] = await mirror.attempt('FULL', 'users');
  expect(refused?.error).toMatchObject({ code: 'KAFKA_REFUSED' });
  const [other] = await mirror.attempt('FULL', 'courses');
  expect(other?.error).toMatchObject({
    code: 'KAFKA_NOT_SENT',
    message: expect.stringContaining('refused a batch'),
  });
  expect(mirror.logLines.join('\n')).not.toContain('KAFKA_OUTCOME_UNKNOWN');
  expect(await mirror.metricsText()).not.toMatch(
    /rollcall_transactions_total\{[^}]*outcome="unknown"[^}]*\} [1-9]/,
  );
  await setTopicSettings(mirror.topic('users'), { 'max.message.bytes': '1048588' });
  await mirror.restart();
  await mirror.full();
  expect(await mirror.differences()).toEqual({});
});
