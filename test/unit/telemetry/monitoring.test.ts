import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { pageOn } from '../../../src/cli/help.ts';
import { ERROR_CODES } from '../../../src/errors.ts';
import { notify } from '../../../src/telemetry/notify.ts';
import { load, yamlWith } from '../config/config-text.ts';
import { boardOf } from './support/board-of.ts';
import { capturedLog } from './support/captured-log.ts';

const CHECKOUT = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, CHECKOUT), 'utf8');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

const alerts = (
  parse(read('helm/rollcall/monitoring/alerts.yaml')) as { groups: { rules: Alert[] }[] }
).groups.flatMap(({ rules }) => rules);
const dashboard = JSON.parse(read('helm/rollcall/monitoring/dashboard.json')) as {
  panels: { title: string; targets: { expr: string; legendFormat: string }[] }[];
  templating: { list: { name: string; query: unknown }[] };
};
const panelQueries = dashboard.panels.flatMap(({ targets }) => targets);
const variableQueries = dashboard.templating.list.map(({ query }) => JSON.stringify(query));
const queries = [
  ...alerts.map(({ expr }) => expr),
  ...panelQueries.map(({ expr }) => expr),
  ...variableQueries,
];

/** The labels of every metric that the program registers; `le` is that of the buckets of a histogram. */
async function exported(): Promise<ReadonlyMap<string, readonly string[]>> {
  const { board, registry } = boardOf(0);
  const { logger } = capturedLog();
  const config = load(yamlWith({ root: 'notify: { url: "https://example.org/hook" }' }));
  await notify(config, { board, metrics: registry, logger, signal: AbortSignal.abort() });
  const labels = new Map<string, readonly string[]>();
  for (const metric of registry.getMetricsAsArray()) {
    const { name, labelNames } = metric as unknown as { name: string; labelNames: string[] };
    labels.set(name, labelNames);
    for (const part of ['bucket', 'sum', 'count']) labels.set(`${name}_${part}`, [...labelNames, 'le']);
  }
  return labels;
}

/** Labels that Prometheus adds to each metric, by the target that it scrapes. */
const OF_TARGET = ['namespace', 'job', 'instance', 'pod', 'container'];

/** The metrics of a query, each with the labels by which it is selected. */
function selectors(query: string): { name: string; labels: string[] }[] {
  return [...query.matchAll(/\b(rollcall_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', matchers = '']) => ({
    name,
    labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
  }));
}

it('alerts and dashboard ask only for metrics and labels that the program exports', async () => {
  const known = await exported();
  const asked = queries.flatMap(selectors);
  expect(asked.length).toBeGreaterThan(30);
  const wrong = asked.flatMap(({ name, labels }) => {
    const has = known.get(name);
    if (has === undefined) return [`${name} is not exported`];
    return labels
      .filter((label) => !has.includes(label) && !OF_TARGET.includes(label))
      .map((label) => `${name} has no label ${label}`);
  });
  expect(wrong).toEqual([]);
});

it('alerts and the dashboard use only labels that the metrics of their queries have', async () => {
  const known = await exported();
  const wrong = [
    ...panelQueries.map(({ expr, legendFormat }) => ({ expr, text: legendFormat })),
    ...alerts.map(({ expr, annotations }) => ({ expr, text: annotations.summary })),
  ].flatMap(({ expr, text }) => {
    const has = new Set(OF_TARGET.concat(selectors(expr).flatMap(({ name }) => known.get(name) ?? [])));
    const grouped = [...expr.matchAll(/(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(/,\s*/),
    );
    const shown = [...text.matchAll(/\{\{\s*(?:\$labels\.)?(?!else|end)(\w+)\s*\}\}/g)].map(
      ([, label = '']) => label,
    );
    return [...grouped, ...shown].filter((label) => !has.has(label)).map((label) => `${expr}: ${label}`);
  });
  expect(wrong).toEqual([]);
});

it('alerts group series by namespace and job or Pod, and alerts on owners group them by tenant, too', () => {
  const lists = alerts.flatMap(({ alert, expr }) =>
    [...expr.matchAll(/(?:by|on) \(([^)]*)\)/g)].map(([, list = '']) => ({ alert, list })),
  );
  expect(lists.length).toBeGreaterThan(20);
  const wrong = lists.filter(({ alert, list }) =>
    alert.startsWith('RollcallOwner')
      ? !/^namespace, (prefix|job, instance), tenant$/.test(list)
      : !/^namespace, (job|pod)/.test(list),
  );
  expect(wrong).toEqual([]);
});

it('each panel of the dashboard shows only the chosen namespaces and jobs', () => {
  const asked = panelQueries.flatMap(({ expr }) =>
    [...expr.matchAll(/\b(?:rollcall|process)_\w+(\{[^}]*\})?/g)].map(([metric]) => metric),
  );
  expect(asked.length).toBeGreaterThan(20);
  const chosen = '{namespace=~"$namespace", job=~"$job"';
  expect(asked.filter((metric) => !metric.includes(chosen))).toEqual([]);
  expect(dashboard.templating.list.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['namespace', 'job']),
  );
});

it('each alert has a test of its own in alerts.test.yaml', () => {
  const tests = read('helm/rollcall/monitoring/alerts.test.yaml');
  expect(alerts.length).toBeGreaterThan(8);
  expect(alerts.filter(({ alert }) => !tests.includes(`alertname: ${alert}\n`))).toEqual([]);
});

const text = read('docs/runbooks.md');
const sections = [...text.matchAll(/^### (\w+)\n\n(?:.+\n)+\n1\. /gm)].map(([, name = '']) => name);

it('the runbooks have a section with steps for each alert and each error code, and no other section', () => {
  const wanted = [...alerts.map(({ alert }) => alert), ...ERROR_CODES];
  expect(sections.toSorted()).toEqual(wanted.toSorted());
  expect(text.match(/^### /gm)).toHaveLength(wanted.length);
});

it('"rollcall help" prints the runbook of each alert and error code, and each alert says so', () => {
  for (const { alert, annotations } of alerts) expect(annotations.runbook).toBe(`rollcall help ${alert}`);
  for (const name of sections)
    expect(pageOn(name)).toMatch(new RegExp(`^### ${name}\\n\\n(?:.+\\n)+\\n1\\. `));
});
