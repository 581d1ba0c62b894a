import { expect, it } from 'vitest';
import { jsonLine } from '../../../../src/cli/tail.ts';

it('a printed record contains no character that steers a terminal, and is the same JSON', () => {
  const record = { key: 'a\u001B[2J\nb\u009B2J\u202Ec', value: { name: 'bjørn 🎓' } };
  const line = jsonLine(record);
  // oxlint-disable-next-line no-control-regex -- these are the characters that must not be there
  expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  expect(line).toContain('bjørn 🎓');
  expect(JSON.parse(line)).toEqual(record);
});
