import type { PeerNumbers, PullCosts } from './measure-peers.ts';
import { PEER_TITLES, type PeerName } from './peer-contenders.ts';
import { spreadOf } from './spread.ts';
import { spread, whole } from './words.ts';

const HEADINGS = [
  'each pull by a new process',
  'first pull, CPU s',
  'peak MiB',
  'rows/s',
  'entries in Kafka',
  'unchanged, CPU s',
  'peak MiB',
  'rows/s',
  'entries',
];

/** Rollcall and its peers with headings; a peer that was not measured has the reason. */
export function peerCells({
  rows,
  floorSeconds,
  measured,
  runningSeconds,
  skipped,
}: PeerNumbers): string[][] {
  const blank = HEADINGS.slice(2).map(() => '');
  const names = Object.keys(PEER_TITLES) as PeerName[];
  return [
    HEADINGS,
    ...names.map((name) => {
      const costs = measured[name];
      return [PEER_TITLES[name]].concat(
        costs === undefined
          ? [`left out: ${skipped[name] ?? 'not asked for'}`].concat(blank)
          : pullCells(costs.first).concat(pullCells(costs.unchanged)),
      );
    }),
    ['Rollcall, one record a row, running process']
      .concat(['', '', '', '', spread(spreadOf(runningSeconds), 2)])
      .concat(['', '', '']),
    [`fetch + JSON.parse of ${whole(rows)} rows, running process`, spread(floorSeconds, 2), ...blank],
  ];
}

function pullCells({ cpuSeconds, peakMiB, rowsPerSecond, entries }: PullCosts): string[] {
  return [
    spread(spreadOf(cpuSeconds), 2),
    spread(spreadOf(peakMiB), 0),
    whole(rowsPerSecond.median),
    whole(entries),
  ];
}
