import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import { expect, inject, vi } from 'vitest';
import { startReferenceHub } from '../../../../reference-hub/start-reference-hub.ts';
import { removeWhenGone } from '../../../../stack/supervised-process.ts';
import { rollcall } from '../../cli/support/rollcall.ts';
import { newTopicPrefix } from '../../support/mirror.ts';
import { readTopicsAt } from '../../support/read-topics.ts';
import { startProcess, type RollcallProcess } from '../../support/running.ts';
import { makeCertificates } from './certificates.ts';
import { aclsIn, ANY_RIGHT, grantKafkaRights } from './documented-rights.ts';
import { startSecuredKafka } from './secured-kafka.ts';

const SOON = { timeout: 120_000, interval: 200 } as const;
const PASSWORD = 'S3CRET';

interface Finding {
  readonly section: string;
  readonly level: string;
  readonly text: string;
  readonly remedy?: string;
}

type Settings = Readonly<Record<string, unknown>>;

/** A secured broker, and a hub whose tenant `north` is mirrored through it. Nothing is granted yet. */
export class RightsWorld implements AsyncDisposable {
  readonly admin: Admin;
  readonly #parts: AsyncDisposableStack;
  readonly #configWith: (tenant: Settings) => string;
  /** Sets the name of an organisation at the hub. */
  readonly #rename: (name: string) => void;
  readonly #namesInTopic: () => Promise<readonly unknown[]>;
  /** All names that the organisation has had. */
  readonly #names: string[] = [];

  private constructor(
    parts: AsyncDisposableStack,
    how: {
      readonly admin: Admin;
      readonly configWith: (tenant: Settings) => string;
      readonly rename: (name: string) => void;
      readonly namesInTopic: () => Promise<readonly unknown[]>;
    },
  ) {
    this.#parts = parts;
    this.admin = how.admin;
    this.#configWith = how.configWith;
    this.#rename = how.rename;
    this.#namesInTopic = how.namesInTopic;
  }

  static async start(): Promise<RightsWorld> {
    const parts = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'rollcall-rights-'));
    parts.defer(removeWhenGone(folder));
    parts.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const certificates = await makeCertificates(join(folder, 'certificates'));
    const kafka = parts.use(
      await startSecuredKafka({
        folder: join(folder, 'kafka'),
        certificates,
        passwords: { plain: PASSWORD, scram: PASSWORD },
      }),
    );
    const hub = await startReferenceHub({ students: 10, seed: 5 });
    parts.defer(() => hub.stop());
    const admin = new Kafka({ brokers: [kafka.admin], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    parts.defer(() => admin.disconnect());
    const { registryUrl, redisUrl } = inject('stack');
    const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
    const [org = ''] = hub.district.ids('orgs');
    // Commands find the process by its heartbeat.
    const redis = { url: redisUrl, keyPrefix: newTopicPrefix() };
    return new RightsWorld(parts, {
      admin,
      configWith: (tenant) =>
        JSON.stringify({
          tenants: [
            {
              id: 'north',
              hub: { baseUrl, tokenUrl, clientId, clientSecret },
              collections: ['orgs'],
              deltaEvery: '500ms',
              ...tenant,
            },
          ],
          kafka: {
            brokers: kafka.sasl,
            ssl: { ca: `\${file:${certificates.ca}}` },
            sasl: { mechanism: 'scram-sha-512', username: 'rollcall', password: PASSWORD },
            replicationFactor: 1,
            session: '6s',
          },
          registry: { url: registryUrl },
          redis,
        }),
      rename: (name) => hub.district.patch('orgs', org, { name }),
      namesInTopic: async () => {
        const servers = { kafkaBrokers: [kafka.admin], registryUrl };
        const records = await readTopicsAt(servers, ['rollcall.north.orgs']);
        return records.filter(({ key }) => key === org).map(({ value }) => (value as Settings)['name']);
      },
    });
  }

  /** Grants what the document says, and nothing else. */
  async grantAsDocumented(): Promise<void> {
    await this.admin.deleteAcls({ filters: [ANY_RIGHT] });
    await grantKafkaRights(this.admin);
  }

  /** Does what the `kafka-acls.sh` commands in a text say. */
  async grant(text: string): Promise<void> {
    await this.admin.createAcls({ acl: aclsIn(text) });
  }

  /** Takes away what the commands grant. */
  async take(text: string): Promise<void> {
    await this.admin.deleteAcls({ filters: aclsIn(text) });
  }

  /** Starts `run` with a log that also has what it does not repeat. */
  async run(): Promise<RollcallProcess> {
    vi.stubEnv('ROLLCALL_LOG_LEVEL', 'debug');
    const run = startProcess(this.#configWith({}), 'run');
    await run.says('"mirroring"');
    await this.isPublished(run);
    return run;
  }

  /** Has the process end the tenant and begin it again, under a configuration with other settings. */
  beginAnew(run: RollcallProcess, tenant: Settings): void {
    run.configure(this.#configWith(tenant));
  }

  /** Changes a row at the hub. */
  changeRow(): void {
    const name = `Name ${this.#names.length}`;
    this.#names.push(name);
    this.#rename(name);
  }

  /** Waits until each change of the row is published once, also by a process that is not ready. */
  async isWritten(): Promise<void> {
    await vi.waitFor(async () => {
      const published = await this.#namesInTopic();
      expect(published.slice(1)).toEqual(this.#names);
    }, SOON);
  }

  /** Waits until the process is ready, and each change of the row is published once. */
  async isPublished(run: RollcallProcess): Promise<void> {
    await this.isWritten();
    await vi.waitFor(async () => expect((await run.get('/readyz')).status).toBe(200), SOON);
  }

  /** Waits until `/readyz` and `status` name a right that is missing. */
  async isNamed(run: RollcallProcess, right: string): Promise<void> {
    await vi.waitFor(async () => {
      const { reasons } = (await (await run.get('/readyz')).json()) as {
        reasons: readonly { part: string; why: string; remedy: string }[];
      };
      const reason = expect.objectContaining({ part: 'kafka', why: expect.stringContaining(right) });
      expect(reasons).toContainEqual(reason);
      expect((await rollcall(this.#configWith({}), 'status')).stdout).toContain(right);
    }, SOON);
  }

  /** What `check` says of Kafka, but for what is right. */
  async check(tenant: Settings = {}): Promise<readonly Finding[]> {
    const { findings } = (await rollcall(this.#configWith(tenant), 'check', '--json')).json<{
      findings: readonly Finding[];
    }>();
    return findings.filter(({ section, level }) => section === 'Kafka' && level === 'failure');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }
}

/** Lines of the log at a level that name a right. */
export function linesOf(run: RollcallProcess, level: 'warn' | 'debug', right: string): readonly string[] {
  return run.lines().filter((line) => {
    const { level: of, msg } = JSON.parse(line) as { level: string; msg: string };
    return of === level && msg.includes(right);
  });
}
