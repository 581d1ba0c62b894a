import { describe, expect, it } from 'vitest';
import { leftOverTopics, otherPrefixes, partsOfTopic } from '../../../src/core/left-over.ts';

const wanted = {
  topicPrefix: 'roll.call',
  tenants: new Map([['north', new Set(['users', 'orgs', 'rejects', 'progress'])]]),
};

describe('what is left over', () => {
  it('is a topic of a collection that its tenant does not mirror, or of a tenant that is not configured', () => {
    const topics = ['users', 'orgs', 'results', 'progress', 'rejects'].map(
      (name) => `roll.call.north.${name}`,
    );
    const found = leftOverTopics([...topics, 'roll.call.south.users', 'roll.call.south.progress'], wanted);
    expect(found.map(({ topic, lacks }) => [topic, lacks])).toEqual([
      ['roll.call.north.results', 'collection'],
      ['roll.call.south.progress', 'tenant'],
      ['roll.call.south.users', 'tenant'],
    ]);
  });

  it('is no topic under another prefix, and no topic of another name', () => {
    const others = [
      'roll.north.users',
      'roll.call.x.north.users',
      'roll.call.north',
      'roll.call.NORTH.users',
    ];
    const strangers = ['roll.call.north.payments', 'roll.call.north.users.bak', '__consumer_offsets'];
    expect(leftOverTopics([...others, ...strangers], wanted)).toEqual([]);
  });

  it('is recognised even if the prefix contains dots', () => {
    expect(partsOfTopic('a.b.c.users')).toEqual({ topicPrefix: 'a.b', tenantId: 'c', suffix: 'users' });
    expect(partsOfTopic('users')).toBeNull();
  });

  it('may be under another prefix, if a progress topic is there too', () => {
    const topics = ['old.north.users', 'old.north.progress', 'shop.north.orders', 'crm.north.users'];
    expect(otherPrefixes([...topics, 'roll.call.north.progress'], 'roll.call')).toEqual(
      new Map([['old', 2]]),
    );
  });
});
