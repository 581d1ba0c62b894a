import type { Ended } from './rollcall.ts';

export interface Reported {
  readonly collection: string;
  readonly key: string;
  readonly kind: string;
  readonly state: string;
}

/** All differences that the command reports with `--json`. */
export function reportedDifferences({ stdout, stderr }: Ended): Reported[] {
  try {
    const { tenants } = JSON.parse(stdout) as {
      tenants: { collections: { differences: Reported[] }[] }[];
    };
    return tenants.flatMap(({ collections }) => collections.flatMap(({ differences }) => differences));
  } catch {
    throw new Error(`no JSON: ${stdout}${stderr}`);
  }
}
