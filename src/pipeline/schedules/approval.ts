import { splitCompositeKey } from '../../model/keys.ts';
import type { SyncResult } from '../sync-result.ts';

/** Withheld days that a person has approved. The approval ends when each student concerned was answered or given up. */
export class ScheduleApproval {
  readonly #students: Set<string>;
  readonly #done = Promise.withResolvers<SyncResult>();

  /** Students who are no longer wanted are not asked for: the next round removes their days. */
  constructor(keys: ReadonlySet<string>, wanted: ReadonlySet<string>) {
    const concerned = [...keys].flatMap((key) => splitCompositeKey(key)?.[0] ?? []);
    this.#students = new Set(concerned.filter((student) => wanted.has(student)));
    this.#done.promise.catch(() => undefined);
  }

  get students(): ReadonlySet<string> {
    return this.#students;
  }

  get result(): Promise<SyncResult> {
    return this.#done.promise;
  }

  get isOver(): boolean {
    return this.#students.size === 0;
  }

  /** The hub answered for the student after the approval, or cannot. */
  settled(student: string): void {
    this.#students.delete(student);
  }

  resolve(result: SyncResult): void {
    this.#done.resolve(result);
  }

  reject(error: Error): void {
    this.#done.reject(error);
  }
}
