import type { components, paths } from "./api.js";

type Schemas = components["schemas"];

export type SearchRequest = Schemas["SearchRequest"];
export type SearchResponse = Schemas["SearchResponse"];
export type SearchResult = Schemas["SearchResult"];
export type FuseRequest = Schemas["FuseRequest"];
export type FuseList = Schemas["FuseList"];
export type FuseItem = Schemas["FuseItem"];
export type FuseResponse = Schemas["FuseResponse"];
export type FuseRefusal = Schemas["FuseRefusal"];
export type FusedItem = Schemas["FusedItem"];
export type FeedbackRequest = Schemas["FeedbackRequest"];
export type FeedbackResponse = Schemas["FeedbackResponse"];

/** What GET /v1/search/stream takes, with `query` for `q`. */
export type StreamRequest = Omit<NonNullable<paths["/v1/search/stream"]["get"]["parameters"]["query"]>, "q" | "slots"> & {
  query?: string;
  slots?: Record<string, string>;
};

export type StreamEvent =
  | ({ event: "partial"; arrived: number; wanted: number } & SearchResponse)
  | ({ event: "final" } & SearchResponse);

export interface MetafuseOptions {
  /** "http://HOST:PORT"; a page's own origin without it. */
  url?: string;
  /** API key, where the server wants one. */
  key?: string;
  /** Instead of the global fetch. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
}

/** What the server refused, or why it could not be asked. */
export class MetafuseError extends Error {
  constructor(message: string, status: number, retryAfter?: number);
  /** Of the HTTP answer; 0 when there was none. */
  readonly status: number;
  /** Seconds to wait, where the server names them. */
  readonly retryAfter?: number;
}

export class Metafuse {
  constructor(options?: MetafuseOptions);
  search(query: string | SearchRequest, options?: CallOptions): Promise<SearchResponse>;
  stream(query: string | StreamRequest, options?: CallOptions): AsyncGenerator<StreamEvent, void, undefined>;
  fuse(request: FuseList[] | FuseRequest, options?: CallOptions): Promise<FuseResponse>;
  fuseAll(requests: FuseRequest[], options?: CallOptions): Promise<(FuseResponse | FuseRefusal)[]>;
  feedback(feedback: FeedbackRequest, options?: CallOptions): Promise<FeedbackResponse>;
  click(searchId: string, result: { position: number } | { url: string } | { id: string }): Promise<FeedbackResponse>;
}
