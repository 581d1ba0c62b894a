import type { AbsenceStep } from './absence-step.ts';
import { shortId } from './describe-change.ts';
import type { Colors } from './screen.ts';

const ID_LENGTH = 8;
const WIDEST_OPERATION = 8;
/** `d149c0af → 1fbebf09` */
const WIDEST_IDS = 2 * ID_LENGTH + 3;

/** Returns `REPLACED d149c0af → 1fbebf09  2026-11-20 08:15–09:00 → 08:15–08:40  8B Naturfag`: ids and times, no names. */
export function describeAbsenceStep(
  step: AbsenceStep,
  options: {
    colors: Colors;
    /** Returns the title of a class, from its topic; undefined if it is unknown. */
    classTitle: (classId: string) => string | undefined;
  },
): string {
  const { colors } = options;
  const nameOf = (classId: string | null): string =>
    classId === null ? 'no class' : (options.classTitle(classId) ?? `class ${short(classId)}`);
  const { versionId, previousId, classId, previousClassId } = step;
  const ids = previousId === null ? short(versionId) : `${short(previousId)} → ${short(versionId)}`;
  const classes = [...new Set([previousClassId, classId])];
  const parts = [
    `${paintOperation(step.operation, colors)} ${ids.padEnd(WIDEST_IDS)}`,
    step.times,
    ...(classes.some((id) => id !== null) ? [colors.dim(classes.map(nameOf).join(' → '))] : []),
    ...(step.isOnlyIdKnown ? [colors.dim(`(the hub no longer has version ${short(previousId ?? '')})`)] : []),
    ...(step.cause === 'HUB' ? [] : [colors.red(step.cause)]),
    ...(step.mergedInto === null ? [] : [`into ${short(step.mergedInto)}`]),
  ];
  return parts.join('  ');
}

function paintOperation(operation: string, colors: Colors): string {
  const text = operation.padEnd(WIDEST_OPERATION);
  if (operation === 'CREATED') return colors.green(text);
  if (operation === 'DELETED') return colors.red(text);
  return operation === 'REPLACED' ? colors.yellow(text) : colors.cyan(text);
}

function short(id: string): string {
  return shortId(id, ID_LENGTH);
}
