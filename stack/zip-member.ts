import { inflateRawSync } from 'node:zlib';

/**
 * Reads one member of a zip archive (a jar), since a machine may have neither `unzip` nor `jar`.
 * Format: APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16; no ZIP64, no encryption.
 *
 * @throws Error when no member has a wanted name.
 */
export function readZipMember(archive: Buffer, isWanted: (name: string) => boolean): Buffer {
  const end = archive.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  if (end < 0) throw new Error('not a zip archive');
  let entry = archive.readUInt32LE(end + 16);
  for (let remaining = archive.readUInt16LE(end + 10); remaining > 0; remaining -= 1) {
    const nameLength = archive.readUInt16LE(entry + 28);
    const name = archive.toString('utf8', entry + 46, entry + 46 + nameLength);
    if (isWanted(name)) return readEntry(archive, entry);
    entry += 46 + nameLength + archive.readUInt16LE(entry + 30) + archive.readUInt16LE(entry + 32);
  }
  throw new Error('the archive has no such member');
}

function readEntry(archive: Buffer, entry: number): Buffer {
  const method = archive.readUInt16LE(entry + 10);
  const size = archive.readUInt32LE(entry + 20);
  const local = archive.readUInt32LE(entry + 42);
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
  const bytes = archive.subarray(start, start + size);
  return method === 0 ? Buffer.from(bytes) : inflateRawSync(bytes);
}
