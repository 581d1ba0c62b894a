import { describe, expect, it } from 'vitest';
import { brokerList, givenAddresses } from '../../../stack/given-addresses.ts';
import { javaMajor } from '../../../stack/java-tools.ts';

describe('givenAddresses', () => {
  it('an empty variable is no address', () => {
    expect(givenAddresses({ ROLLCALL_KAFKA_BROKERS: '', ROLLCALL_REDIS_URL: ' ' })).toEqual({});
  });

  it('a slash at the end of the registry URL is removed', () => {
    expect(givenAddresses({ ROLLCALL_REGISTRY_URL: 'http://r:8081/apis/ccompat/v7/' })).toEqual({
      registry: 'http://r:8081/apis/ccompat/v7',
    });
  });

  it('blanks and a comma at the end are ignored', () => {
    expect(brokerList('a:9092, b:9092,')).toEqual(['a:9092', 'b:9092']);
  });
});

describe('javaMajor', () => {
  it('Java 8 is 8', () => {
    expect(javaMajor('openjdk version "1.8.0_402"')).toBe(8);
    expect(javaMajor('openjdk version "17.0.15" 2025-04-15')).toBe(17);
    expect(javaMajor('openjdk version "25" 2025-09-16')).toBe(25);
    expect(javaMajor('command not found')).toBeUndefined();
  });
});
