/** Three, as users have; one is cheaper, and hides what goes wrong between brokers. */
export type BrokerCount = 1 | 3;

/** What `--brokers` says. Throws an Error with a message for the user for any other number. */
export function brokerCount(text: string): BrokerCount {
  if (text === '1') return 1;
  if (text === '3') return 3;
  throw new Error(`--brokers takes 1 or 3, not ${text}`);
}
