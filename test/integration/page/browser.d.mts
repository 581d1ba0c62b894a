/** As much of Playwright as these tests use; a checkout whose dependencies are older still type-checks. */
export interface Page {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  close(): Promise<void>;
  content(): Promise<string>;
  textContent(selector: string): Promise<string | null>;
  waitForSelector(selector: string, options?: { state?: 'attached' | 'visible' }): Promise<unknown>;
  waitForFunction(expression: string): Promise<unknown>;
  evaluate<T>(expression: string): Promise<T>;
  click(selector: string): Promise<void>;
  focus(selector: string): Promise<void>;
  screenshot(options: { path?: string; fullPage?: boolean }): Promise<Uint8Array>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  emulateMedia(options: { colorScheme: 'light' | 'dark' }): Promise<void>;
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): unknown;
  on(event: 'pageerror', listener: (error: Error) => void): unknown;
  on(event: 'request', listener: (request: { url(): string }) => void): unknown;
  readonly keyboard: { press(key: string): Promise<void> };
}

export interface Browser {
  newPage(options?: {
    viewport: { width: number; height: number };
    colorScheme?: 'light' | 'dark';
  }): Promise<Page>;
  close(): Promise<void>;
}

export function chromiumPath(): Promise<string | undefined>;
export function launchChromium(): Promise<Browser>;
/** With `ROLLCALL_SCREENSHOTS=<folder>`, for people to look at. */
export function screenshot(page: Page, name: string, fullPage?: boolean): Promise<void>;
/** The accessibility violations that axe finds on a page, as `rule: selector`. */
export function violationsOn(page: Page): Promise<string[]>;
