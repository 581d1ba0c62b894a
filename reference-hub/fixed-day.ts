import { TOKEN_PATH } from './server/hub-server.ts';
import { startReferenceHub, type ReferenceHub } from './start-reference-hub.ts';

/** A Tuesday in term. */
const MORNING_MS = Date.parse('2026-03-10T08:30:00.000Z');
const AN_HOUR_MS = 3_600_000;
const SIZE = { resultsPerStudentYear: 2, absencesPerStudentYear: 8, assessmentsPerStudentYear: 1 };

/**
 * Starts the hub of a fixed day: what it shows before and after {@link liveTheDay} must stay the same in every version, to the
 * millisecond and the address, because records that Rollcall has published are compared with it. Its clock stands still.
 */
export async function startFixedHub(): Promise<ReferenceHub> {
  const hub = await startReferenceHub({
    students: 6,
    seed: 1,
    size: SIZE,
    startMs: MORNING_MS,
    now: () => MORNING_MS,
    publicOrigin: 'https://hub.example',
  });
  const { district } = hub;
  district.put('orgs', { sourcedId: 42, name: 'without a readable id' });
  district.put('users', {
    sourcedId: 'misfits',
    status: 'active',
    dateLastModified: '2026-03-09T03:00:00.123456+00:00',
    enabledUser: 'TRUE',
    email: 5,
    shoeSize: 38.5,
  });
  const origin = `http://127.0.0.1:${hub.port}`;
  return { ...hub, baseUrl: `${origin}/north`, tokenUrl: `${origin}${TOKEN_PATH}` };
}

/** A re-stamp; a row that changes, one that leaves, one that comes; absences that are registered, corrected and withdrawn. */
export function liveTheDay({ district, clock }: Pick<ReferenceHub, 'district' | 'clock'>): void {
  district.restamp();
  clock.advance(AN_HOUR_MS);
  const [student = ''] = district.ids('students');
  const [result = ''] = district.ids('results');
  const current = district
    .snapshot('absences')
    .filter((row) => row['replacedBy'] === null && !row['deletedTime']);
  const [corrected = '', withdrawn = ''] = current.map(({ sourcedId }) => sourcedId as string);
  district.patch('users', student, { givenName: 'Changed' });
  district.remove('results', result);
  district.put('courses', { sourcedId: 'chess', title: 'Chess' });
  district.replaceAbsence(corrected, { changes: { absenceDurationValue: 7 } });
  district.deleteAbsence(withdrawn);
  district.put('absences', {
    sourcedId: 'new',
    fromTime: '2026-03-10T08:00:00Z',
    toTime: '2026-03-10T09:00:00+01:00',
    student: { sourcedId: student, type: 'user' },
    school: [{ sourcedId: 'one' }, { sourcedId: 'other' }],
  });
}
