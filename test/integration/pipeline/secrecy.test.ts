import { expect, it } from 'vitest';
import { ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import { describeError, type RollcallError } from '../../../src/errors.ts';
import { openMirror } from '../support/mirror.ts';
import { textIn } from '../support/rows.ts';

const TEN_MINUTES_MS = 600_000;
/** Shorter texts occur in any log by chance. */
const SHORTEST = 5;
/** Words of the standard, which Rollcall uses as well. */
const VOCABULARY =
  /^(student|teacher|guardian|parent|primary|secondary|active|tobedeleted|users?|class(es)?|course|orgs?|school|district|national|homeroom|scheduled|academicSession|gradingPeriod|schoolYear|semester|term|Minutes|absence|true|false|lineItem|category|result|fully graded|administrator|aide|proctor|relative|counselor|demographics|system|other)$/i;

function textsIn(value: unknown, found: Set<string>): Set<string> {
  if (typeof value === 'string') found.add(value);
  else if (Array.isArray(value)) for (const element of value) textsIn(element, found);
  else if (typeof value === 'object' && value !== null) {
    for (const element of Object.values(value)) textsIn(element, found);
  }
  return found;
}

/** The texts that occur as words, or anywhere if they contain blanks or hyphens. */
function leaks(shown: string, texts: ReadonlySet<string>): string[] {
  const words = new Set(shown.split(/[^\p{L}\p{N}_@:.|%+-]+/u));
  return [...texts].filter(
    (text) =>
      text.length >= SHORTEST &&
      !VOCABULARY.test(text) &&
      (words.has(text) || (/[\s-]/.test(text) && shown.includes(text))),
  );
}

it('no row content, id or secret is in any log line, metric, error, status page or probe', async () => {
  const key = 'a pseudonym key of thirty-two characters';
  await using mirror = await openMirror({
    hubOptions: { students: 20, clientSecret: 'the-secret-of-the-client' },
    collections: { 'class-students': { enabled: true } },
    settings: { pseudonymise: { key } },
  });
  const { district, faults, clock, tokens } = mirror.hub;
  const outcomes = [...(await mirror.attempt('FULL'))];
  const texts = new Set<string>();
  const collections = mirror.parts.collections.map(({ name }) => name);
  for (const collection of collections) {
    const hasRows = (ROW_COLLECTIONS as readonly string[]).includes(collection);
    if (hasRows) textsIn(district.snapshot(collection), texts);
  }
  clock.advance(TEN_MINUTES_MS);
  const [user = '', gone = ''] = district.ids('users');
  district.patch('users', user, { givenName: 'Changed Beyond Recognition' });
  district.remove('users', gone);
  for (const id of district.ids('courses').slice(1)) district.remove('courses', id);
  tokens.revokeAll();
  outcomes.push(...(await mirror.attempt('INCREMENTAL')));
  faults.set('malformed-rows=0.2');
  faults.set('unknown-fields');
  faults.set('deep-nesting=500@orgs');
  faults.set('error-rate=0.1');
  faults.set('truncate@results', { times: 2 });
  faults.set('html-error=400@line-items');
  faults.set('status=403@categories');
  faults.set('foreign-link=https://elsewhere.example');
  faults.set('missing-list@enrollments');
  outcomes.push(...(await mirror.attempt('FULL')));
  await mirror.restart();
  faults.clear();
  faults.set('status=401@token');
  tokens.revokeAll();
  outcomes.push(...(await mirror.attempt('FULL', 'users')));

  const errors = outcomes.flatMap(({ error }) => (error === null ? [] : [error]));
  expect(new Set(errors.map((error) => (error as RollcallError).code))).toEqual(
    new Set(['HUB_REQUEST_REFUSED', 'HUB_FORBIDDEN', 'HUB_TOKEN_UNAVAILABLE']),
  );
  // The page shows what /status.json has: a decision about courses, and why collections are not ready.
  // Times of syncs are by the hub's clock, on whose day some rows have a date.
  const status = mirror.statusText().replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"a time"');
  expect(status).toContain('rollcall deletes list --tenant north');
  expect(status).toContain('"part":"hub"');
  const shown = [
    ...mirror.logLines,
    await mirror.metricsText(),
    status,
    ...errors.flatMap((error) => [describeError(error), String((error as Error).stack)]),
  ].join('\n');
  expect(mirror.logLines.length).toBeGreaterThan(50);
  expect(texts.size).toBeGreaterThan(1_000);

  for (const secret of ['the-secret-of-the-client', key, 'Changed Beyond Recognition', 'Bearer ']) {
    expect(shown).not.toContain(secret);
  }
  const planted = textIn(district.snapshot('users')[0], 'givenName');
  expect(leaks(`${shown}\nreading the row of ${planted} failed`, new Set([...texts, planted]))).toEqual(
    planted.length < SHORTEST ? [] : [planted],
  );
  expect(leaks(`${shown}\n{"id":"${user}"}`, texts)).toEqual([user]);
  expect(leaks(shown, texts)).toEqual([]);
});
