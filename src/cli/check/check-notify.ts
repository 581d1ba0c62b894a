import type { Config } from '../../config.ts';
import { tryReceiver } from '../../telemetry/notify.ts';
import { failure, ok, type Finding } from './finding.ts';

const SUBJECT = 'notify.url';

/** Sends a test message to `notify.url` if that is wanted: a message that nobody asked for would alarm people. */
export async function* checkNotify({ notify, kafka }: Config, isWanted: boolean): AsyncGenerator<Finding> {
  if (!isWanted) {
    yield { level: 'unchecked', subject: SUBJECT, text: '"rollcall check --notify" sends a test message' };
  } else if (notify === undefined) {
    yield failure(SUBJECT, 'is not set, so nobody gets a message', 'Set notify.url in the configuration.');
  } else {
    const refusal = await tryReceiver(notify, kafka.topicPrefix);
    yield refusal === null
      ? ok(
          SUBJECT,
          'the receiver has accepted a test message: see whether the message has arrived where people read it',
        )
      : failure(SUBJECT, `the receiver accepts no messages: ${refusal.problem}`, refusal.remedy);
  }
}
