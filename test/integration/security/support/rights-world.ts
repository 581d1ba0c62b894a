import type { Admin } from 'kafkajs';
import { expect, inject, vi } from 'vitest';
import type { Finding } from '../../../../src/cli/check/finding.ts';
import { rollcall } from '../../cli/support/rollcall.ts';
import { newTopicPrefix } from '../../support/mirror.ts';
import { readTopicsAt } from '../../support/read-topics.ts';
import { startProcess, type RollcallProcess } from '../../support/running.ts';
import { aclsIn, ANY_RIGHT, grantKafkaRights } from './documented-rights.ts';
import { startSecuredParts, type SecuredParts } from './secured-parts.ts';
const PASSWORD = 'S3CRET';

type Settings = Readonly<Record<string, unknown>>;

/** Secured brokers, and a hub whose tenant `north` is mirrored through them. Nothing is granted yet. */
export class RightsWorld implements AsyncDisposable {
  readonly #parts: AsyncDisposableStack;
  readonly #secured: SecuredParts;
  /** Commands find the process by its heartbeat. */
  readonly #redis = { url: inject('stack').redisUrl, keyPrefix: newTopicPrefix() };
  /** The organisation whose row is changed, and all names that it has had. */
  readonly #org: string;
  readonly #names: string[] = [];

  private constructor(parts: AsyncDisposableStack, secured: SecuredParts) {
    this.#parts = parts;
    this.#secured = secured;
    this.#org = secured.hub.district.ids('orgs')[0] ?? '';
  }

  static async start(): Promise<RightsWorld> {
    const parts = new AsyncDisposableStack();
    return new RightsWorld(parts, await startSecuredParts(parts, { plain: PASSWORD, scram: PASSWORD }));
  }

  get admin(): Admin {
    return this.#secured.admin;
  }

  #configWith(tenant: Settings): string {
    const kafka = { ...this.#secured.saslOf('scram-sha-512', PASSWORD), replicationFactor: 1, session: '6s' };
    const registry = { url: inject('stack').registryUrl };
    return this.#secured.configWith({ kafka, registry, redis: this.#redis }, tenant);
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
  beginAgain(run: RollcallProcess, tenant: Settings): void {
    run.configure(this.#configWith(tenant));
  }

  /** Changes a row at the hub. */
  changeRow(): void {
    const name = `Name ${this.#names.length}`;
    this.#names.push(name);
    this.#secured.hub.district.patch('orgs', this.#org, { name });
  }

  /** Waits until the process is ready, and each change of the row is published once. */
  async isPublished(run: RollcallProcess): Promise<void> {
    const servers = { kafkaBrokers: [this.#secured.kafka.admin], registryUrl: inject('stack').registryUrl };
    await vi.waitFor(async () => {
      const records = await readTopicsAt(servers, ['rollcall.north.orgs']);
      const published = records.filter(({ key }) => key === this.#org).map(({ value }) => value?.['name']);
      expect(published.slice(1)).toEqual(this.#names);
    });
    await vi.waitFor(async () => expect((await run.get('/readyz')).status).toBe(200));
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
    });
  }

  /**
   * A change of a row needs a right that was taken: the process names it once, however often it fails, `check` names it alone, and
   * what `check` says is enough to go on.
   */
  async losesAndRegains(run: RollcallProcess, right: string, tenant: Settings = {}): Promise<void> {
    this.changeRow();
    await this.isNamed(run, right);
    await run.until('it has failed again and again', () => linesOf(run, 'debug', right).length > 2);
    expect(linesOf(run, 'warn', 'KAFKA_REFUSED')).toEqual([expect.stringContaining(right)]);
    const [denied, ...others] = await this.check(tenant);
    expect([denied?.text, others]).toEqual([`Kafka denies this user ${right}`, []]);
    await this.grant(denied?.remedy ?? '');
    expect(await this.check(tenant)).toEqual([]);
    await this.isPublished(run);
    expect(linesOf(run, 'warn', 'KAFKA_REFUSED')).toHaveLength(1);
  }

  /** What `check` says of Kafka, but for what is right. */
  async check(tenant: Settings = {}): Promise<readonly Finding[]> {
    const { findings } = (await rollcall(this.#configWith(tenant), 'check', '--json')).json<{
      findings: readonly (Finding & { readonly section: string })[];
    }>();
    return findings.filter(({ section, level }) => section === 'Kafka' && level === 'failure');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }
}

/** The command that grants operations on a resource. */
export function acl(resource: string, ...operations: readonly string[]): string {
  const options = operations.map((operation) => `--operation ${operation}`).join(' ');
  return `kafka-acls.sh … --add ${resource} ${options} --allow-principal User:rollcall`;
}

/** Lines of the log at a level that name a right. */
function linesOf(run: RollcallProcess, level: 'warn' | 'debug', right: string): readonly string[] {
  return run.lines().filter((line) => {
    const { level: of, msg } = JSON.parse(line) as { level: string; msg: string };
    return of === level && msg.includes(right);
  });
}
