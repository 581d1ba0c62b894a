import { node } from './dom.js';

const counts = new Intl.NumberFormat('en-GB');

export const count = (value) => (value === null || value === undefined ? '–' : counts.format(value));
export const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);

/** A duration (ms) in its largest unit. */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** The time since an ISO time, by the clock of the process. */
export function age(iso, nowMs) {
  if (iso === null || iso === undefined) return node('span', { class: 'none' }, '–');
  return node(
    'time',
    { datetime: iso, title: new Date(iso).toLocaleString() },
    span(nowMs - Date.parse(iso)),
  );
}
