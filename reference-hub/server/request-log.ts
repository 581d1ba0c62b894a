/** What the hub was asked, for tests and for people; tokens are never kept. */
export interface LoggedRequest {
  readonly at: string;
  readonly method: string;
  /** Collection or endpoint, `control`, or `unknown`. */
  readonly target: string;
  /** Path and query as received. */
  readonly url: string;
  readonly status: number;
  readonly bytes: number;
  /** Whether an Authorization header came along. */
  readonly authorized: boolean;
}

export interface RequestLog {
  add(request: LoggedRequest): void;
  /** The last ones, oldest first. */
  all(): readonly LoggedRequest[];
  /** Requests by target and status since the last clear: `{ users: { '200': 12 } }`. */
  counts(): Record<string, Record<string, number>>;
  clear(): void;
}

export function createRequestLog(kept = 5000): RequestLog {
  let requests: LoggedRequest[] = [];
  let counts: Record<string, Record<string, number>> = {};
  return {
    add: (request) => {
      requests.push(request);
      if (requests.length > kept * 2) requests = requests.slice(-kept);
      const byStatus = (counts[request.target] ??= {});
      byStatus[request.status] = (byStatus[request.status] ?? 0) + 1;
    },
    all: () => requests.slice(-kept),
    counts: () => structuredClone(counts),
    clear: () => {
      requests = [];
      counts = {};
    },
  };
}
