import { createHmac } from 'node:crypto';

/**
 * 32 bits of a hash of a student's id as the hub names it, keyed by the tenant's id. It tells two students apart without
 * the id, and stays the same when `drop` or `pseudonymise` changes.
 */
export function studentFingerprint(tenantId: string, studentId: string): number {
  return createHmac('sha256', tenantId).update(studentId).digest().readUInt32BE();
}
