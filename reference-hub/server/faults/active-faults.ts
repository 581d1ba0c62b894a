import { collectionNamed } from '../../district/collections.ts';
import { OTHER_TARGETS } from '../routes.ts';
import type { Fault } from './fault.ts';
import { FAULTS } from './registry.ts';

/** A fault that is switched on. */
export interface ActiveFault {
  readonly fault: Fault;
  readonly value: string;
  /** Collection or endpoint; undefined: all of them (but not the token endpoint). */
  readonly target: string | undefined;
  /** Requests it will still meet; undefined: all. */
  timesLeft: number | undefined;
}

export interface FaultOptions {
  value?: string | number | undefined;
  collection?: string | undefined;
  /** Switches itself off after so many requests. */
  times?: number | undefined;
}

/** The faults of a running hub. */
export type ActiveFaults = ReturnType<typeof createActiveFaults>;

/** @throws RangeError for an unknown fault or collection */
export function createActiveFaults(specs: readonly string[]) {
  let active: ActiveFault[] = [];
  const set = (spec: string, options: FaultOptions = {}): void => {
    const next = readSpec(spec, options);
    active = active.filter((item) => item.fault !== next.fault || item.target !== next.target);
    active.push(next);
  };
  const concerning = (target: string): readonly ActiveFault[] =>
    active.filter(
      (item) =>
        item.timesLeft !== 0 && (item.target === target || (item.target === undefined && target !== 'token')),
    );
  for (const spec of specs) set(spec);
  return {
    /** `spec`: `name`, `name=value`, `name@collection` or `name=value@collection`. @throws RangeError likewise */
    set,
    /** Without a name: all. Without a collection: everywhere. */
    clear: (name?: string, collection?: string): void => {
      const target = collection === undefined ? undefined : targetNamed(collection);
      active = active.filter(
        (item) =>
          (name !== undefined && item.fault.name !== name) ||
          (target !== undefined && item.target !== target),
      );
    },
    list: () =>
      active
        .filter((item) => item.timesLeft !== 0)
        .map((item) => ({
          name: item.fault.name,
          value: item.value,
          collection: item.target,
          timesLeft: item.timesLeft,
        })),
    /** Those that concern a target, without counting. */
    concerning,
    /** Those that meet a request to a target; counts them as met. */
    meet: (target: string): readonly ActiveFault[] => {
      const met = concerning(target);
      for (const item of met) if (item.timesLeft !== undefined) item.timesLeft -= 1;
      return met;
    },
  };
}

function readSpec(spec: string, options: FaultOptions): ActiveFault {
  const [, name, value, place] = /^([^=@]+)(?:=([^@]*(?:@(?=.*@)[^@]*)*))?(?:@([^@]+))?$/.exec(spec) ?? [];
  const fault = FAULTS.find((known) => known.name === name);
  if (fault === undefined)
    throw new RangeError(
      `There is no fault "${name ?? spec}". Known: ${FAULTS.map((known) => known.name).join(', ')}.`,
    );
  const given = options.value === undefined ? value : String(options.value);
  if (given !== undefined && fault.value === undefined)
    throw new RangeError(`The fault ${fault.name} takes no value.`);
  const collection = options.collection ?? place;
  return {
    fault,
    value: given ?? fault.value?.byDefault ?? '',
    target: collection === undefined ? undefined : targetNamed(collection),
    timesLeft: options.times,
  };
}

function targetNamed(name: string): string {
  const target = collectionNamed(name) ?? OTHER_TARGETS.find((known) => known === name);
  if (target === undefined) throw new RangeError(`There is no collection or endpoint "${name}".`);
  return target;
}
