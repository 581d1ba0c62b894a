/** What the hub was asked, for tests and for people; tokens are never kept. */
export type LoggedRequest = {
  readonly at: string;
  readonly method: string;
  /** Collection or endpoint, `control`, or `unknown`. */
  readonly target: string;
  /** Path and query as received. */
  readonly url: string;
  readonly status: number;
};

export type RequestLog = ReturnType<typeof createRequestLog>;

export function createRequestLog(kept = 5000) {
  let requests: LoggedRequest[] = [];
  let counts: Record<string, Record<string, number>> = {};
  return {
    add: (request: LoggedRequest): void => {
      requests.push(request);
      if (requests.length > kept * 2) requests = requests.slice(-kept);
      const byStatus = (counts[request.target] ??= {});
      byStatus[request.status] = (byStatus[request.status] ?? 0) + 1;
    },
    /** The last ones, oldest first. */
    all: (): readonly LoggedRequest[] => requests.slice(-kept),
    /** Requests by target and status since the last clear: `{ users: { '200': 12 } }`. */
    counts: () => structuredClone(counts),
    clear: (): void => {
      requests = [];
      counts = {};
    },
  };
}
