import type { District } from '../district/district.ts';
import { lastRestamp } from '../district/district.ts';
import { restampEverything } from '../district/district-operations.ts';
import { createRandom } from '../random.ts';
import { ABSENCE_CHANGES } from './absence-changes.ts';
import type { Change } from './change.ts';
import { GRADEBOOK_CHANGES } from './gradebook-changes.ts';
import { PEOPLE_CHANGES } from './people-changes.ts';

/** Everything that happens by itself. */
const CHANGES: readonly Change[] = [...ABSENCE_CHANGES, ...GRADEBOOK_CHANGES, ...PEOPLE_CHANGES];

const LONGEST_TICK_MS = 1000;

/** A district in which things happen by themselves. */
export type LivingDistrict = ReturnType<typeof createLivingDistrict>;

/**
 * Changes follow from the seed and their order, whatever the time; only their stamps come from the hub's clock.
 *
 * @param changesPerMinute of the world, not of the hub's clock
 * @param running false: frozen at the start
 */
export function createLivingDistrict(
  district: District,
  options: { seed: number; restampAt: string; changesPerMinute: number; running: boolean },
) {
  const random = createRandom(options.seed ^ 0x5eed);
  const totals: Record<string, number> = {};
  let frozen = !options.running;
  let timer: NodeJS.Timeout | undefined;
  let restampedFor = lastRestamp(district.clock.now(), options.restampAt);
  const intervalMs = Math.max(20, Math.min(LONGEST_TICK_MS, 60_000 / options.changesPerMinute));
  let due = 0;

  const step = (changes: number): Record<string, number> => {
    const done: Record<string, number> = {};
    for (let made = 0; made < changes; made += 1) {
      const kind = changeOnce(district, random);
      done[kind] = (done[kind] ?? 0) + 1;
      totals[kind] = (totals[kind] ?? 0) + 1;
    }
    return done;
  };
  const restampAtNight = (): void => {
    const due = lastRestamp(district.clock.now(), options.restampAt);
    if (due <= restampedFor) return;
    restampedFor = due;
    restampEverything(district);
    totals['restamp'] = (totals['restamp'] ?? 0) + 1;
  };
  const tick = (): void => {
    restampAtNight();
    due += (options.changesPerMinute * intervalMs) / 60_000;
    const whole = Math.floor(due);
    due -= whole;
    step(whole);
  };
  const start = (): void => {
    timer ??= setInterval(tick, intervalMs);
    timer.unref();
  };
  const freeze = (): void => {
    frozen = true;
    clearInterval(timer);
    timer = undefined;
  };
  if (!frozen) start();
  return {
    /** Makes so many changes at once, frozen or not; returns what happened, by kind. */
    step,
    frozen: () => frozen,
    /** Nothing happens until unfreeze; the clock goes on. */
    freeze,
    unfreeze: (): void => {
      frozen = false;
      start();
    },
    /** What has happened so far, by kind. */
    happened: () => ({ ...totals }),
    stop: freeze,
  };
}

/** One change; a kind that finds nothing to change gives way to the next. */
function changeOnce(district: District, random: ReturnType<typeof createRandom>): string {
  const total = CHANGES.reduce((sum, change) => sum + change.weight, 0);
  for (let attempt = 0; attempt < 20; attempt += 1) {
    let place = random.fraction() * total;
    const change = CHANGES.find((candidate) => (place -= candidate.weight) < 0);
    if (change?.make(district, random) === true) return change.name;
  }
  return 'nothing';
}
