import type { DistrictOperations } from '../hub-operations.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { isJsonObject } from '../json.ts';

/**
 * One change of the control API's `mutate`: `{ op, … }`.
 *
 * @returns what came of it. @throws RangeError for an unknown operation, collection or row
 */
export function changeDistrict(operations: DistrictOperations, change: JsonObject): JsonValue {
  const op = text(change, 'op');
  const stamp = change['stamp'] !== false;
  switch (op) {
    case 'put':
      return {
        id: operations.put(text(change, 'collection'), object(change, 'row'), {
          id: optional(change, 'id'),
          stamp,
        }),
      };
    case 'patch':
      return {
        changed: operations.patch(text(change, 'collection'), text(change, 'id'), object(change, 'fields'), {
          stamp,
        }),
      };
    case 'delete':
      return { deleted: operations.remove(text(change, 'collection'), text(change, 'id')) };
    case 'register-absence':
      return {
        id: operations.registerAbsence({
          student: text(change, 'student'),
          fromTime: text(change, 'fromTime'),
          toTime: text(change, 'toTime'),
          classId: optional(change, 'classId'),
          school: optional(change, 'school'),
          id: optional(change, 'id'),
        }),
      };
    case 'replace-absence': {
      const changes = change['changes'];
      return {
        id: operations.replaceAbsence(text(change, 'id'), {
          changes: isJsonObject(changes) ? changes : undefined,
          newId: optional(change, 'newId'),
        }),
      };
    }
    case 'delete-absence':
      operations.deleteAbsence(text(change, 'id'));
      return { deleted: true };
    case 'purge-absence':
      return { purged: operations.purgeAbsence(text(change, 'id')) };
    case 'join-afterschool':
      return { joined: operations.joinAfterschool(text(change, 'afterschool'), text(change, 'user')) };
    case 'leave-afterschool':
      return { left: operations.leaveAfterschool(text(change, 'afterschool'), text(change, 'user')) };
    case 'change-lesson': {
      const lesson = change['change'];
      operations.changeLesson(
        text(change, 'id'),
        isJsonObject(lesson) || lesson === null ? lesson : undefined,
      );
      return { changed: true };
    }
    default:
      throw new RangeError(`There is no operation "${op}".`);
  }
}

function text(change: JsonObject, field: string): string {
  const value = change[field];
  if (typeof value !== 'string') throw new RangeError(`${field} is missing or no text.`);
  return value;
}

function optional(change: JsonObject, field: string): string | undefined {
  const value = change[field];
  return typeof value === 'string' ? value : undefined;
}

function object(change: JsonObject, field: string): JsonObject {
  const value = change[field];
  if (!isJsonObject(value)) throw new RangeError(`${field} is missing or no object.`);
  return value;
}
