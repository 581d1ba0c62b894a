import { DefaultReporter, type TestModule, type TestSpecification } from 'vitest/node';

const QUIET_MS = 30_000;

/** Vitest's own reporter shows a running count on terminals; this one shows the progress elsewhere, too, in plain lines. */
export default class ProgressReporter extends DefaultReporter {
  readonly #running = new Map<string, { readonly file: string; readonly sinceMs: number }>();
  #total = 0;
  #done = 0;
  #lastSaidMs = 0;
  #timer: NodeJS.Timeout | undefined;

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    this.#total = specifications.length;
    this.#done = 0;
    this.#lastSaidMs = performance.now();
    if (!this.isTTY) this.#timer = setInterval(() => this.#sayWhatRuns(), QUIET_MS / 6).unref();
  }

  onTestModuleStart(module: TestModule): void {
    this.#running.set(module.id, { file: module.relativeModuleId, sinceMs: performance.now() });
  }

  override onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module.id);
    this.#done += 1;
    this.#lastSaidMs = performance.now();
    super.onTestModuleEnd(module);
  }

  override onTestRunEnd(...end: Parameters<DefaultReporter['onTestRunEnd']>): void {
    clearInterval(this.#timer);
    super.onTestRunEnd(...end);
  }

  protected override getEntityPrefix(entity: Parameters<DefaultReporter['getEntityPrefix']>[0]): string {
    const prefix = super.getEntityPrefix(entity);
    return entity.type === 'module' && !this.isTTY ? `[${this.#done}/${this.#total}] ${prefix}` : prefix;
  }

  #sayWhatRuns(): void {
    const nowMs = performance.now();
    if (nowMs - this.#lastSaidMs < QUIET_MS) return;
    this.#lastSaidMs = nowMs;
    const running = [...this.#running.values()].map(
      ({ file, sinceMs }) => `${file} (${Math.round((nowMs - sinceMs) / 1000)} s)`,
    );
    this.log(`[${this.#done}/${this.#total}] running: ${running.join(', ')}`);
  }
}
