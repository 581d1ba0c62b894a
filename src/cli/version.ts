import { Command } from 'commander';
import { packageVersion } from './package-version.ts';
import { verbAction } from './verb-action.ts';

/** `rollcall version`: what a report of a problem should name. */
export function versionCommand(): Command {
  return new Command('version').description('Prints the versions of Rollcall and of Node.').action(
    verbAction(async ({ output }) => {
      const versions = { rollcall: packageVersion(), node: process.versions.node };
      output.line(
        `rollcall ${versions.rollcall} (Node ${versions.node}, ${process.platform} ${process.arch})`,
      );
      output.data({ ...versions, platform: process.platform, arch: process.arch });
    }),
  );
}
