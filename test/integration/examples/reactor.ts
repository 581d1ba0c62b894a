import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { inject } from 'vitest';
import type { Mirror } from '../support/mirror.ts';
import type { Running } from '../support/running.ts';
import { withAdmin } from '../support/stack-kafka.ts';
import { exampleFile, PYTHON, startProgram } from './example-process.ts';

interface Reaction {
  readonly ceId: string;
  readonly absenceId: string;
  readonly action: string;
}

/** Where a reactor reads, and where it keeps its effects and positions. */
interface Place {
  /** `<prefix>.<tenant>`. */
  readonly topics: string;
  readonly file: string;
  readonly groupId: string;
}

/** Hours. The days of the district are long past by the clock of this machine. */
const NEVER_TOO_LATE = '10000000';
const flags = ({ topics, file, groupId }: Place): string[] =>
  ['--topics', topics, '--db', file, '--group', groupId].concat('--too-late-after', NEVER_TOO_LATE);

const START = {
  TypeScript: (place) =>
    startProgram([process.execPath, exampleFile('react-once/react-once.ts'), ...flags(place)]),
  Python: (place) => startProgram([PYTHON, exampleFile('python/react_once.py'), ...flags(place)]),
  Java: ({ topics, file, groupId }) => {
    const { kafkaBrokers, registryUrl } = inject('stack');
    const settings = readFileSync(exampleFile('java/consumer.properties'), 'utf8')
      .replace('localhost:9092', kafkaBrokers.join(','))
      .replace('http://localhost:8081', new URL(registryUrl).origin);
    writeFileSync(`${file}.properties`, settings);
    const jar = exampleFile('java/target/react-once.jar');
    const env = { ROLLCALL_TOPICS: topics, TOO_LATE_AFTER_HOURS: NEVER_TOO_LATE };
    return startProgram(['java', '-Xmx128m', '-jar', jar, `${file}.properties`, file, groupId], env);
  },
} satisfies Record<string, (place: Place) => Running>;

const BUSY_MS = 5_000;
const BROKEN = 'broken between effect and position';

/** One consumer group with one file, over several runs of the program. */
export class Reactor implements AsyncDisposable {
  readonly #mirror: Mirror;
  readonly language: keyof typeof START;
  readonly #directory = mkdtempSync(join(tmpdir(), 'rollcall-test-'));
  readonly #groupId: string;
  #process: Running | null = null;

  constructor(mirror: Mirror, language: keyof typeof START) {
    this.#mirror = mirror;
    this.language = language;
    this.#groupId = `${mirror.topicPrefix}-react-${language}`;
  }

  start(): Running {
    const { topicPrefix, tenantId } = this.#mirror;
    const topics = `${topicPrefix}.${tenantId}`;
    this.#process = START[this.language]({ topics, file: this.#file, groupId: this.#groupId });
    return this.#process;
  }

  get process(): Running {
    if (this.#process === null) throw new Error('it was not started');
    return this.#process;
  }

  /** Waits until the program has begun to treat events as news. */
  async begun(): Promise<void> {
    await this.process.until('it had begun', () => this.#hasBegun());
  }

  /** Waits until the program has stored positions behind all present events. */
  async readAll(): Promise<void> {
    const records = await this.#mirror.records('absence-changes');
    await this.process.until('all was read', () => {
      if (!this.#hasBegun()) return false;
      const positions = new Map(
        this.#query('select partition, next from positions').map((row) => [
          Number(row['partition']),
          Number(row['next']),
        ]),
      );
      return records.every(({ partition, offset }) => (positions.get(partition) ?? 0) > offset);
    });
  }

  /** From now on the program fails after an effect and before its position, until {@link mend}. */
  breakBetween(): void {
    this.#execute(`create trigger broken before insert on positions when exists (select 1 from reactions)
      begin select raise(abort, '${BROKEN}'); end`);
  }

  /** Waits until the program has failed so. */
  async broke(): Promise<void> {
    await this.process.says(BROKEN);
  }

  mend(): void {
    this.#execute('drop trigger broken');
  }

  /** Simulates expired offsets or lost commits of the group: all events are delivered again. */
  async forgetOffsets(): Promise<void> {
    await withAdmin((admin) => admin.deleteGroups([this.#groupId]));
  }

  /** All reactions, in the order of the decisions. */
  reactions(): Reaction[] {
    return this.#query('select ce_id, absence_id, action from reactions order by rowid').map((row) => ({
      ceId: String(row['ce_id']),
      absenceId: String(row['absence_id']),
      action: String(row['action']),
    }));
  }

  /** The life of the topic that the positions count in. */
  life(): unknown {
    return this.#query('select id from life')[0]?.['id'];
  }

  actionsOn(absenceId: string): string[] {
    return this.reactions().flatMap((reaction) =>
      reaction.absenceId === absenceId ? [reaction.action] : [],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #hasBegun(): boolean {
    if (!existsSync(this.#file)) return false;
    const made = this.#query("select name from sqlite_master where name in ('started', 'reactions')");
    return made.length === 2 && this.#query('select at from started').length > 0;
  }

  #query(sql: string): Record<string, unknown>[] {
    const db = new DatabaseSync(this.#file, { readOnly: true, timeout: BUSY_MS });
    try {
      return db.prepare(sql).all();
    } finally {
      db.close();
    }
  }

  #execute(sql: string): void {
    const db = new DatabaseSync(this.#file, { timeout: BUSY_MS });
    try {
      db.exec(sql);
    } finally {
      db.close();
    }
  }

  get #file(): string {
    return join(this.#directory, 'reactions.sqlite');
  }
}

/** A reactor in each language. */
export class Reactors implements AsyncDisposable {
  readonly #reactors: readonly Reactor[];

  constructor(mirror: Mirror) {
    const languages = Object.keys(START) as (keyof typeof START)[];
    this.#reactors = languages.map((language) => new Reactor(mirror, language));
  }

  readonly each = <T>(work: (reactor: Reactor) => Promise<T>): Promise<T[]> =>
    Promise.all(this.#reactors.map(work));

  async [Symbol.asyncDispose](): Promise<void> {
    await this.each((reactor) => reactor[Symbol.asyncDispose]());
  }
}
