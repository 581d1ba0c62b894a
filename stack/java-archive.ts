import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Java } from './java-tools.ts';

/** Flags for a JVM that starts fast, and the work to do once it has stopped. */
export interface StartArchive {
  flags: readonly string[];
  /** True when this run records the archive: stopping takes some seconds longer, once. */
  isRecording: boolean;
  keep: () => Promise<void>;
}

/**
 * Class data sharing (JEP 350): the first run of a service in this cache leaves an archive of its loaded classes when it stops in
 * good order, later ones start in about half the time. An archive belongs to one Java build; another ignores it.
 */
export function startArchive(options: { java: Java; folder: string; name: string }): StartArchive {
  const build = createHash('sha256').update(options.java.version).digest('hex').slice(0, 8);
  const archive = join(options.folder, `${options.name}-${build}.jsa`);
  const flags = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto'];
  if (existsSync(archive)) {
    return {
      flags: [...flags, `-XX:SharedArchiveFile=${archive}`, '-Xlog:cds=off', '-Xlog:cds+dynamic=off'],
      isRecording: false,
      keep: async () => undefined,
    };
  }
  const recorded = `${archive}.${process.pid}`;
  return {
    flags: [...flags, `-XX:ArchiveClassesAtExit=${recorded}`, '-Xlog:cds=off', '-Xlog:cds+dynamic=off'],
    isRecording: true,
    async keep() {
      if (existsSync(recorded)) await rename(recorded, archive);
      await rm(recorded, { force: true });
    },
  };
}
