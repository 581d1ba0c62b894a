import { expect, it } from 'vitest';
import type { CollectionName } from '../../../src/model/collections.ts';
import { openMirror } from '../support/mirror.ts';

const COLLECTIONS: CollectionName[] = ['orgs', 'courses', 'academic-sessions'];

it('answers that prove nothing remove no row and leave the watermark; each is named, and forgotten when it is over', async () => {
  await using mirror = await openMirror({
    collections: COLLECTIONS,
    hubSettings: { pageSize: 10 },
  });
  const { faults, clock, tokens, district } = mirror.hub;
  const watermark = async (): Promise<unknown> =>
    (await mirror.view('progress')).get('courses')?.value?.['watermark'];
  const codes = async () =>
    (await mirror.attempt('FULL', ...COLLECTIONS)).map(
      ({ result, error }) => (error as { code?: string } | null)?.code ?? result?.kind,
    );
  faults.set('not-offered@academic-sessions');
  for (let sync = 1; sync <= 2; sync += 1)
    expect(await codes()).toEqual(['complete', 'complete', 'HUB_NOT_OFFERED']);
  expect(mirror.statusText()).toContain('the hub does not offer academic-sessions');
  const warnings = mirror.logLines.filter((line) => /"level":"warn".*does not offer/.test(line));
  expect(warnings).toHaveLength(1);
  faults.clear();
  faults.set('missing-list@academic-sessions');
  await codes();
  expect(mirror.statusText()).not.toContain('does not offer');
  faults.clear();
  await mirror.full();
  const [before, watermarkBefore] = [await mirror.ends(), await watermark()];
  clock.advance(600_000);
  for (const [fault, outcome] of [
    ['missing-list', 'inconclusive'],
    ['not-offered', 'HUB_NOT_OFFERED'],
    ['status=403', 'HUB_FORBIDDEN'],
    ['empty-list', 'complete'],
  ] as const) {
    faults.set(`${fault}@courses`);
    const found = await codes();
    faults.clear();
    expect([fault, ...found]).toEqual([fault, 'complete', outcome, 'complete']);
    if (outcome !== 'complete') expect(await watermark()).toBe(watermarkBefore);
  }
  expect(await mirror.ends()).toEqual(before);
  // The token expires meanwhile, and all rows are back.
  const issued = tokens.issued();
  tokens.revokeAll();
  district.put('courses', { sourcedId: 'new', title: 'New' });
  expect((await mirror.full()).get('courses')).toMatchObject({ kind: 'complete', withheld: 0 });
  expect(tokens.issued()).toBeGreaterThan(issued);
  expect(await mirror.differences()).toEqual({});
});
