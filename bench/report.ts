import { PARTS } from './cpu-profile.ts';
import type { Profiles } from './profile-syncs.ts';
import type { BenchNumbers } from './run.ts';
import { growthCells, lineCells, peerCells, textTable } from './tables.ts';

/** Above this the numbers are unreliable. */
const NOISY_LOAD_PER_CORE = 0.3;

/** Reports the lines, then each part that ran, as text. */
export function reportOf(numbers: BenchNumbers): string {
  const { lines, growth, parts, cores, cpu, node, replicationFactor, loadAtStart } = numbers;
  return [
    `${cores} × ${cpu}, Node ${node}, replication factor ${replicationFactor}, load ${loadAtStart.toFixed(1)} at the start`,
    '',
    ...(lines.length > 0 ? [textTable(lineCells(lines))] : []),
    ...(parts.peers === undefined ? [] : [textTable(peerCells(parts.peers))]),
    ...(growth.length > 0 ? [textTable(growthCells(growth))] : []),
    ...(parts.profiles === undefined ? [] : [textTable(shareCells(parts.profiles))]),
    ...(loadAtStart <= cores * NOISY_LOAD_PER_CORE
      ? []
      : ['The machine was not idle: rows a second and ms are hardly reliable, the ratios the most.', '']),
  ].join('\n');
}

function shareCells(profiles: Profiles): string[][] {
  const all = Object.entries(profiles);
  return [
    ['share of the main thread', ...all.map(([name]) => name)],
    ...PARTS.map((part) =>
      [part as string].concat(all.map(([, shares]) => `${(shares[part] * 100).toFixed(0)} %`)),
    ),
  ];
}
