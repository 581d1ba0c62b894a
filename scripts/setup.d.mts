/** Whether `node_modules` in the folder contains what its `package-lock.json` lists. */
export function isInstalled(folder: string): boolean;
