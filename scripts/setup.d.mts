/** Whether `node_modules` in the folder holds what its `package-lock.json` lists. */
export function isInstalled(folder: string): boolean;
