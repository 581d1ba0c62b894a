import type { Ended } from './rollcall.ts';

export interface Told {
  readonly collection: string;
  readonly key: string;
  readonly kind: string;
  readonly state: string;
}

/** All differences that the command reports with `--json`. */
export function differencesTold({ stdout, stderr }: Ended): Told[] {
  try {
    const { tenants } = JSON.parse(stdout) as {
      tenants: { collections: { differences: Told[] }[] }[];
    };
    return tenants.flatMap(({ collections }) => collections.flatMap(({ differences }) => differences));
  } catch {
    throw new Error(`no JSON: ${stdout}${stderr}`);
  }
}
