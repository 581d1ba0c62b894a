import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Java } from './java-tools.ts';

/** Flags for a JVM that starts fast, and the work after its stop. */
export interface StartArchive {
  flags: readonly string[];
  /** True when this run records the archive, which delays its stop by some seconds. */
  isRecording: boolean;
  keep: () => Promise<void>;
}

interface StartArchiveOptions {
  java: Java;
  folder: string;
  name: string;
  /** False for a run that is killed, or for one of several at once. */
  mayRecord: boolean;
}

/**
 * Class data sharing (JEP 350): when the first run of a service ends properly, it stores an archive of its loaded
 * classes in the cache, and later runs start in about half the time. Another Java build ignores the archive.
 */
export function startArchive(options: StartArchiveOptions): StartArchive {
  const build = createHash('sha256').update(options.java.version).digest('hex').slice(0, 8);
  const archive = join(options.folder, `${options.name}-${build}.jsa`);
  const quiet = ['-Xlog:cds=off', '-Xlog:cds+dynamic=off'];
  const flags = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto', ...quiet];
  const isThere = existsSync(archive);
  if (isThere || !options.mayRecord) {
    return {
      flags: isThere ? [...flags, `-XX:SharedArchiveFile=${archive}`] : flags,
      isRecording: false,
      keep: async () => undefined,
    };
  }
  const recorded = `${archive}.${process.pid}`;
  return {
    flags: [...flags, `-XX:ArchiveClassesAtExit=${recorded}`],
    isRecording: true,
    async keep() {
      if (existsSync(recorded)) await rename(recorded, archive);
      await rm(recorded, { force: true });
    },
  };
}
