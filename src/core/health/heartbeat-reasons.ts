import { printable } from '../words.ts';
import { TENANT_PARTS, type NotReady } from './parts.ts';

const MOST_REASONS = 20;
const LONGEST_TEXT = 500;

/** The reasons as one bounded text, for the heartbeat of the process that mirrors the tenant. */
export function reasonsAsText(reasons: readonly NotReady[]): string {
  return JSON.stringify(
    reasons.slice(0, MOST_REASONS).map(({ part, why, remedy }) => [part, cut(why), cut(remedy)]),
  );
}

/** Reads such a text; what is none, or names no known part, is left out: another version may have written it. */
export function reasonsFromText(text: string, tenant: string): NotReady[] {
  return listIn(text).flatMap((each) => {
    if (!Array.isArray(each)) return [];
    const [part, why, remedy] = each as readonly unknown[];
    const known = TENANT_PARTS.find((name) => name === part);
    if (known === undefined || typeof why !== 'string' || typeof remedy !== 'string') return [];
    return [{ part: known, tenant, why: printable(cut(why)), remedy: printable(cut(remedy)) }];
  });
}

function listIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.slice(0, MOST_REASONS) : [];
  } catch {
    return [];
  }
}

function cut(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}
