import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readZipMember } from '../../../stack/zip-member.ts';

/** Makes a zip archive as APPNOTE.TXT describes it, with only the fields that a reader needs. */
function zip(members: { name: string; content: string; stored?: boolean }[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, stored = false } of members) {
    const data = stored ? Buffer.from(content) : deflateRawSync(content);
    const extra = Buffer.from('extra');
    const local = Buffer.alloc(30);
    local.write('PK\x03\x04', 'latin1');
    local.writeUInt16LE(name.length, 26);
    local.writeUInt16LE(extra.length, 28);
    const entry = Buffer.alloc(46);
    entry.write('PK\x01\x02', 'latin1');
    entry.writeUInt16LE(stored ? 0 : 8, 10);
    entry.writeUInt32LE(data.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, Buffer.from(name));
    bodies.push(local, Buffer.from(name), extra, data);
    offset += local.length + name.length + extra.length + data.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, ...directory, end]);
}

describe('readZipMember', () => {
  const archive = zip([
    { name: 'first', content: 'not this' },
    { name: 'server-linux', content: 'the binary '.repeat(100) },
    { name: 'stored', content: 'as it is', stored: true },
  ]);

  it('the wanted member is read, compressed or stored', () => {
    expect(readZipMember(archive, (name) => name.endsWith('linux')).toString()).toBe(
      'the binary '.repeat(100),
    );
    expect(readZipMember(archive, (name) => name === 'stored').toString()).toBe('as it is');
  });

  it('a missing member, and a file that is no archive, are errors that say so', () => {
    expect(() => readZipMember(archive, (name) => name.endsWith('plan9'))).toThrow('no such member');
    expect(() => readZipMember(Buffer.from('<html>'), () => true)).toThrow('not a zip archive');
  });
});
