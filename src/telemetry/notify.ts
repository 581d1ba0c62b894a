import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { jitteredPauseMs } from '../backoff.ts';
import { commandsHere } from '../commands-here.ts';
import type { Config } from '../config.ts';
import {
  NoticeBook,
  noticesOf,
  processNotice,
  testNotice,
  textOf,
  type Notice,
  type Shown,
} from '../core/health/notices.ts';
import type { TenantStatus } from '../core/health/tenant-status.ts';
import { isoOrNull } from '../core/words.ts';
import { isTls, isUntrusted, systemCode } from '../errors.ts';
import { createHttpAgent, ProxyError, type HttpAgent } from '../http-agent.ts';
import type { Board } from './board.ts';

const LOOK_EVERY_MS = 15_000;
const AFTER_FAILURES = { firstMs: 5_000, longestMs: 5 * 60_000 } as const;
const ANSWER_WITHIN_MS = 10_000;
/** The most notices in one message: further ones come with the next message. */
const MOST_NOTICES = 100;
const RECEIVER = 'the receiver of notify.url';
const REFUSED_REMEDY = 'Check notify.url and notify.token, and read the log of the receiver.';
const UNANSWERED_REMEDY =
  'Make the receiver answer: check that it runs, read its log, and check that this process can reach the host in notify.url.';
const BUSY_REMEDY =
  'Wait: the receiver accepts no more messages for now. If this continues, raise its limit, or let fewer programs send to the same address.';
const UNTRUSTED_REMEDY =
  'Use a host name that is in the certificate of the receiver; for a private certificate authority set NODE_EXTRA_CA_CERTS, and restart the process.';
const TLS_REMEDY =
  'Check whether notify.url should begin with http:// or https://, and that the receiver does not require a client certificate.';
const AGAIN = 'Rollcall tries again, with pauses of up to five minutes.';

type Settings = NonNullable<Config['notify']>;

interface NotifyOptions {
  readonly board: Board;
  readonly metrics: Registry;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly sleep?: (ms: number) => Promise<void>;
  readonly answerWithinMs?: number;
}

/**
 * Posts to `notify.url` each state that needs a person, and its end, until the signal aborts. One message is under way
 * at a time. It says what the board shows then, so nothing queues up while the receiver does not answer.
 */
export async function notify({ notify: settings, kafka }: Config, options: NotifyOptions): Promise<void> {
  if (settings === undefined) return;
  const { board, signal } = options;
  const sleep = options.sleep ?? ((ms) => delay(ms, undefined, { signal }));
  const receiver = createReceiver(settings, options);
  const book = new NoticeBook(settings.afterMs);
  const lookEveryMs = Math.min(LOOK_EVERY_MS, settings.afterMs);
  for (;;) {
    const failures = receiver.failures();
    await sleep(failures === 0 ? lookEveryMs : jitteredPauseMs(AFTER_FAILURES, failures, Math.random)).catch(
      () => undefined,
    );
    if (signal.aborted) break;
    const statuses = board.tenants.map((monitor) => monitor.status());
    const due = book.due(shownOn(board, statuses, kafka.topicPrefix), Date.now(), statuses);
    const notices = due.slice(0, MOST_NOTICES);
    if (notices.length > 0 && (await receiver.takes(notices, signal))) book.sent(notices);
  }
  // A fatal reason is sent at once: a process that always ends soon after its start never runs long enough to send a
  // notice later.
  const end = board.ofProcess().filter(({ why }) => why === board.fatalReason);
  const notices = end.map((reason) => processNotice(reason, kafka.topicPrefix).notice);
  if (notices.length > 0) await receiver.takes(notices, new AbortController().signal);
  await receiver.close();
}

/**
 * The notices about what the board shows. While the process itself is not well, there is no notice about its tenants,
 * because their troubles follow from that.
 */
function shownOn(board: Board, statuses: readonly TenantStatus[], prefix: string): Shown[] {
  const { isValid, note } = board.configuration;
  const invalid = isValid || note === null ? [] : [{ part: 'configuration', ...note } as const];
  const ofProcess = board.ofProcess();
  const ofTenants = statuses.flatMap((status) => noticesOf(status, prefix));
  const hidden = ofTenants.map((each) => ({ ...each, patienceMs: Infinity }));
  return [
    ...[...ofProcess, ...invalid].map((reason) => processNotice(reason, prefix)),
    ...(ofProcess.length > 0 ? hidden : ofTenants),
  ];
}

/** Why the receiver has not taken a message. */
interface Refusal {
  /** The end of a sentence that begins with the receiver. */
  readonly problem: string;
  readonly remedy: string;
}

/** Posts a message that says that it is a test. Returns what went wrong; null: the receiver has taken the message. */
export async function tryReceiver(settings: Settings, prefix: string): Promise<Refusal | null> {
  const agent = newAgent();
  const refusal = await post(settings, [testNotice(prefix)], { agent, answerWithinMs: ANSWER_WITHIN_MS });
  await agent.destroy();
  return refusal;
}

function newAgent(): HttpAgent {
  return createHttpAgent({ connections: 1, connectTimeoutMs: ANSWER_WITHIN_MS });
}

/** The receiver at `notify.url`. Its failures are counted, and logged once until it answers again. */
function createReceiver(
  settings: Settings,
  { metrics, logger, answerWithinMs = ANSWER_WITHIN_MS }: NotifyOptions,
) {
  const agent = newAgent();
  let failures = 0;
  const messages = new Counter({
    name: 'rollcall_notifications_total',
    help: 'Messages to notify.url, including repeated ones.',
    labelNames: ['outcome'],
    registers: [metrics],
  });
  for (const outcome of ['sent', 'failed']) messages.inc({ outcome }, 0);
  return {
    /** How many messages in a row the receiver has not taken. */
    failures: () => failures,
    close: () => agent.destroy(),
    /** Returns whether the receiver has taken a message. */
    async takes(notices: readonly Notice[], signal: AbortSignal): Promise<boolean> {
      const refusal = await post(settings, notices, { agent, answerWithinMs, signal });
      if (signal.aborted) return false;
      messages.inc({ outcome: refusal === null ? 'sent' : 'failed' });
      if (refusal === null && failures > 0) logger.info(`${RECEIVER} accepts messages again`);
      if (refusal !== null && failures === 0) {
        const error = { remedy: `${refusal.remedy} ${AGAIN}` };
        logger.warn({ error }, `${RECEIVER} accepts no messages: ${refusal.problem}`);
      }
      failures = refusal === null ? 0 : failures + 1;
      return refusal === null;
    },
  };
}

/** Returns what went wrong, without the address, which may be a secret; null: the receiver has taken the message. */
async function post(
  { url, token }: Settings,
  states: readonly Notice[],
  options: { readonly agent: HttpAgent; readonly answerWithinMs: number; readonly signal?: AbortSignal },
): Promise<Refusal | null> {
  const { agent, answerWithinMs, signal } = options;
  const { origin, pathname, search } = new URL(url.reveal());
  const nowMs = Date.now();
  const message = { text: textOf(states, nowMs), at: isoOrNull(nowMs), states };
  const deadline = AbortSignal.timeout(answerWithinMs);
  try {
    const { statusCode, body } = await agent.request({
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
      },
      body: JSON.stringify(message, (_, value: unknown) =>
        typeof value === 'string' ? commandsHere(value) : value,
      ),
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    // The status is the answer, however large its body is.
    body.on('error', () => {}).destroy();
    if (statusCode >= 200 && statusCode < 300) return null;
    return { problem: `it answers ${statusCode}`, remedy: remedyForAnswer(statusCode) };
  } catch (error) {
    if (deadline.aborted)
      return { problem: `it does not answer within ${answerWithinMs / 1000} s`, remedy: UNANSWERED_REMEDY };
    if (error instanceof ProxyError)
      return { problem: `it cannot be reached: ${error.message}`, remedy: error.remedy };
    const code = systemCode(error) ?? 'no HTTP';
    return { problem: `it cannot be reached (${code})`, remedy: remedyForFailure(code) };
  }
}

function remedyForAnswer(statusCode: number): string {
  if (statusCode === 429) return BUSY_REMEDY;
  return statusCode >= 500 ? UNANSWERED_REMEDY : REFUSED_REMEDY;
}

function remedyForFailure(code: string): string {
  if (isUntrusted(code)) return UNTRUSTED_REMEDY;
  return isTls(code) ? TLS_REMEDY : UNANSWERED_REMEDY;
}
