import { readFileSync } from 'node:fs';

export interface PageFile {
  readonly contentType: string;
  readonly body: string;
}

const FILES = {
  '/': { name: 'index.html', contentType: 'text/html; charset=utf-8' },
  '/status.css': { name: 'status.css', contentType: 'text/css; charset=utf-8' },
  '/status.js': { name: 'status.js', contentType: 'text/javascript; charset=utf-8' },
  '/dom.js': { name: 'dom.js', contentType: 'text/javascript; charset=utf-8' },
  '/chart.js': { name: 'chart.js', contentType: 'text/javascript; charset=utf-8' },
  '/alarms.js': { name: 'alarms.js', contentType: 'text/javascript; charset=utf-8' },
  '/tenant-card.js': { name: 'tenant-card.js', contentType: 'text/javascript; charset=utf-8' },
  '/words.js': { name: 'words.js', contentType: 'text/javascript; charset=utf-8' },
  '/icon.svg': { name: 'icon.svg', contentType: 'image/svg+xml' },
} as const;

/** Nothing but the page's own files: no inline script or style, no other host, no frame around it. */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

/** Reads the files of the status page, by their path at the server. */
export function readPageFiles(): ReadonlyMap<string, PageFile> {
  return new Map(
    Object.entries(FILES).map(([path, { name, contentType }]) => {
      const body = readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8');
      return [path, { contentType, body }];
    }),
  );
}
