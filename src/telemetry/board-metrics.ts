import { Gauge, type Registry } from 'prom-client';
import { TENANT_PARTS } from '../core/health/parts.ts';
import type { TenantStatus } from '../core/health/tenant-status.ts';
import type { Board } from './monitor/board.ts';

const SCOPE = ['tenant', 'collection'] as const;

/** Registers the metrics that are computed at each scrape, so that they are always current. */
export function registerBoardMetrics(registry: Registry, board: Board): void {
  // A scrape calls each gauge separately; all of them use one reading of the board.
  let statuses: readonly TenantStatus[] = [];
  compute(registry, {
    name: 'rollcall_ready',
    help: '1 while a part of the tenant is ready: see /readyz for the reason when it is not.',
    labelNames: ['tenant', 'part'],
    collect() {
      statuses = board.statuses();
      for (const { tenant, reasons } of statuses) {
        const troubled = new Set(reasons.map(({ part }) => part));
        for (const part of TENANT_PARTS) this.set({ tenant, part }, troubled.has(part) ? 0 : 1);
      }
    },
  });
  compute(registry, {
    name: 'rollcall_needs_decision',
    help: '1 while the collection needs a decision of a person: withheld deletions, or rows of another tenant.',
    labelNames: SCOPE,
    collect() {
      for (const { tenant, collections, decisions } of statuses) {
        const needed = new Set(decisions.flatMap((decision) => decision.collections));
        for (const { collection, derivedFrom } of collections)
          if (derivedFrom === null) this.set({ tenant, collection }, needed.has(collection) ? 1 : 0);
      }
    },
  });
  compute(registry, {
    name: 'rollcall_deletions_withheld',
    help: 'Withheld deletions that need a decision: see rollcall deletes list.',
    labelNames: SCOPE,
    collect() {
      for (const { tenant, collections } of statuses) {
        for (const { collection, derivedFrom, withheld } of collections)
          if (derivedFrom === null) this.set({ tenant, collection }, withheld);
      }
    },
  });
  compute(registry, {
    name: 'rollcall_watermark_timestamp_seconds',
    help: 'Every change at the hub before this time is published, in seconds since the epoch.',
    labelNames: SCOPE,
    collect() {
      for (const { tenant, collections, hubSkewMs } of statuses) {
        for (const { collection, derivedFrom, watermarkMs, hasIncremental } of collections)
          if (derivedFrom === null && hasIncremental && watermarkMs !== null)
            this.set({ tenant, collection }, (watermarkMs - hubSkewMs) / 1000);
      }
    },
  });
  compute(registry, {
    name: 'rollcall_hub_circuit_open',
    help: '1 while Rollcall sends the API of the hub only trial requests, because it failed too often in a row.',
    labelNames: ['tenant', 'api'],
    collect() {
      for (const { tenant } of statuses) {
        const open = board.openCircuitsOf(tenant);
        for (const api of ['hub', 'core'] as const) this.set({ tenant, api }, open.has(api) ? 1 : 0);
      }
    },
  });
  const build = new Gauge({
    name: 'rollcall_build_info',
    help: 'Always 1; the labels name the version of Rollcall and of Node.',
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  build.set({ version: board.version, node: process.versions.node }, 1);
}

/** Registers a gauge whose values are computed at each scrape. */
function compute<Label extends string>(
  registry: Registry,
  gauge: { name: string; help: string; labelNames: readonly Label[]; collect(this: Gauge<Label>): void },
): void {
  registry.registerMetric(new Gauge<Label>({ ...gauge, registers: [] }));
}
