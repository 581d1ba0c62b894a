import { node } from './dom.js';
import { count } from './words.js';

/** What only a person can decide, with the commands. */
export function decisions(tenants) {
  const all = tenants.flatMap(({ tenant, decisions }) => decisions.map((each) => ({ tenant, ...each })));
  if (all.length === 0) return [];
  return [
    node(
      'section',
      { class: 'alarm', 'data-key': ' decisions', 'aria-labelledby': 'decisions' },
      node(
        'h2',
        { id: 'decisions', class: 'bad' },
        all.length === 1 ? '✗ A decision is needed' : `✗ ${all.length} decisions are needed`,
      ),
      node('ul', {}, ...all.map(decision)),
    ),
  ];
}

function decision({ tenant, what, commands, groups = [] }) {
  return node(
    'li',
    {},
    node('p', {}, node('span', { class: 'tag' }, tenant), ` ${what}`),
    ...groups.map(({ collection, by, counts, others }) =>
      node(
        'p',
        { class: 'groups small' },
        node('span', {}, `${collection} by ${by}:`),
        ...counts.map(({ id, name, rows }) => node('span', {}, node('b', {}, name ?? id), ` ${count(rows)}`)),
        ...(others.groups > 0
          ? [node('span', {}, `and ${count(others.rows)} in ${count(others.groups)} more`)]
          : []),
      ),
    ),
    node(
      'div',
      { class: 'commands' },
      ...commands.map((command) =>
        node(
          'button',
          { type: 'button', 'data-command': command, 'aria-label': `Copy: ${command}` },
          command,
        ),
      ),
    ),
  );
}

/** Why something is not ready, with the remedy. */
export function troubles(tenants) {
  const all = tenants.flatMap(({ tenant, reasons }) => reasons.map((each) => ({ tenant, ...each })));
  if (all.length === 0) return [];
  return [
    node(
      'section',
      { class: 'alarm warning', 'data-key': ' troubles', 'aria-labelledby': 'troubles' },
      node('h2', { id: 'troubles', class: 'warn' }, '! Not ready'),
      node(
        'ul',
        {},
        ...all.map(({ tenant, part, why, remedy }) =>
          node(
            'li',
            {},
            node('p', {}, node('span', { class: 'tag' }, `${tenant} · ${part}`), ` ${why}`),
            node('p', { class: 'remedy' }, `→ ${remedy}`),
          ),
        ),
      ),
    ),
  ];
}
