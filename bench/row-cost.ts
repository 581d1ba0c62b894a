/**
 * What reading a row costs beside `JSON.parse` of the same bytes: µs of one core per row, in one run.
 * `node bench/row-cost.ts [rows per page] [rounds]`
 */
import { parseLossless } from '../src/core/lossless-json.ts';
import { strictFieldsOf } from '../src/core/mapping.ts';
import { createRowReader } from '../src/core/row-reader.ts';
import type { RowReader } from '../src/core/reading.ts';
import type { CollectionName } from '../src/model/collections.ts';
import { readSchemaFiles } from '../src/publisher/schema-files.ts';

const ROWS = Number(process.argv[2] ?? 1000);
const ROUNDS = Number(process.argv[3] ?? 60);

const HUB = 'https://hub.example/north/ims/oneroster/rostering/v1p2';

function id(kind: string, index: number): string {
  return `${kind}-550e8400-e29b-41d4-a716-${String(index).padStart(12, '0')}`;
}

function reference(type: string, index: number): object {
  return { href: `${HUB}/${type}s/${id(type, index)}`, sourcedId: id(type, index), type };
}

function absence(index: number): object {
  return {
    sourcedId: id('absence', index),
    status: 'active',
    dateLastModified: '2026-03-04T03:12:45.123Z',
    fromTime: '2026-03-04T07:30:00.000Z',
    toTime: '2026-03-04T08:15:00.000Z',
    absenceDurationUnit: 'Minutes',
    absenceDurationValue: 45,
    student: reference('user', index % 2000),
    school: [reference('org', index % 7)],
    term: reference('academicSession', 1),
    replaces: null,
    replacedBy: null,
  };
}

function user(index: number, metadata: object | undefined): object {
  return {
    sourcedId: id('user', index),
    status: 'active',
    dateLastModified: '2026-03-04T03:12:45.123Z',
    enabledUser: 'true',
    username: `elev${index}`,
    userIds: [{ type: 'feide', identifier: `elev${index}@skole.example` }],
    givenName: `Fornavn${index}`,
    familyName: 'Etternavnsen',
    roles: [
      { roleType: 'primary', role: 'student', org: reference('org', index % 7), beginDate: '2025-08-01' },
    ],
    agents: [reference('user', index + 5000)],
    grades: ['8'],
    email: `elev${index}@skole.example`,
    ...(metadata === undefined ? {} : { metadata }),
  };
}

const METADATA = {
  'onedhub.birthDate': '2012-05-06',
  'onedhub.gender': 'female',
  'onedhub.formOfWrittenNorwegian': 'nb',
  'onedhub.clientIds': ['550e8400-e29b-41d4-a716-446655440000'],
};

/** The median of the rounds: other work on the machine does not count. */
function microsPerRow(work: () => void): number {
  for (let round = 0; round < 20; round++) work();
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = process.hrtime.bigint();
    work();
    times.push(Number(process.hrtime.bigint() - startedAt) / 1000 / ROWS);
  }
  return times.toSorted((one, other) => one - other)[ROUNDS >> 1] ?? NaN;
}

interface Subject {
  readonly title: string;
  readonly collection: CollectionName;
  readonly row: (index: number) => object;
}

const SUBJECTS: readonly Subject[] = [
  { title: 'absence', collection: 'absence-versions', row: absence },
  { title: 'user', collection: 'users', row: (index) => user(index, undefined) },
  { title: 'user+metadata', collection: 'users', row: (index) => user(index, METADATA) },
];

function measure({ title, row }: Subject, reader: RowReader): void {
  const text = JSON.stringify({ rows: Array.from({ length: ROWS }, (_, index) => row(index)) });
  const { rows } = parseLossless(text) as { rows: unknown[] };
  const parse = microsPerRow(() => JSON.parse(text));
  const lossless = microsPerRow(() => parseLossless(text));
  const read = microsPerRow(() => {
    for (const each of rows) reader.read(each);
  });
  const both = microsPerRow(() => {
    for (const each of (parseLossless(text) as { rows: unknown[] }).rows) reader.read(each);
  });
  const values = rows.map((each) => reader.read(each)).filter((reading) => reading.kind === 'row');
  const encode = microsPerRow(() => {
    for (const { value } of values) reader.encode(value);
  });
  const columns = [
    title.padEnd(14),
    `${(text.length / ROWS).toFixed(0)} chars`,
    `JSON.parse ${parse.toFixed(2)}`,
    `scan ${(lossless - parse).toFixed(2)}`,
    `read+hash ${read.toFixed(2)} (${(read / parse).toFixed(2)} x JSON.parse)`,
    `parse+read ${both.toFixed(2)}`,
    `encode ${encode.toFixed(2)}`,
  ];
  console.log(columns.join('  '));
}

const files = readSchemaFiles();
for (const subject of SUBJECTS) {
  const file = files.get(subject.collection);
  if (file === undefined) throw new Error(`no schema for ${subject.collection}`);
  measure(
    subject,
    createRowReader({ schema: file.schema, strictFields: strictFieldsOf(subject.collection) }),
  );
}
