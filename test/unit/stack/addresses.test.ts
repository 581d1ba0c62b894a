import { expect, it } from 'vitest';
import { brokerList, givenAddresses } from '../../../stack/given-addresses.ts';
import { javaMajor } from '../../../stack/java-tools.ts';

it('given addresses: an empty variable is none, and blanks, commas and slashes at the end are removed', () => {
  expect(givenAddresses({ ROLLCALL_KAFKA_BROKERS: '', ROLLCALL_REDIS_URL: ' ' })).toEqual({});
  const registry = 'http://r:8081/apis/ccompat/v7';
  expect(givenAddresses({ ROLLCALL_REGISTRY_URL: `${registry}/` })).toEqual({ registry });
  expect(brokerList('a:9092, b:9092,')).toEqual(['a:9092', 'b:9092']);
});

it.each([
  ['openjdk version "1.8.0_402"', 8],
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['openjdk version "25" 2025-09-16', 25],
  ['command not found', undefined],
])('the major version of Java in %j is %s', (text, major) => {
  expect(javaMajor(text)).toBe(major);
});
