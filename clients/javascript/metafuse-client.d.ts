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
export type RerankRequest = Schemas["RerankRequest"];
export type RerankResponse = Schemas["RerankResponse"];
export type FeedbackRequest = Schemas["FeedbackRequest"];
export type FeedbackResponse = Schemas["FeedbackResponse"];

/** A document for an embedded index. Other texts become columns, numbers can order results, lists become one text. */
export type SourceDocument = { url: string; title?: string; text?: string; [field: string]: unknown };

type StreamParameters = NonNullable<paths["/v1/search/stream"]["get"]["parameters"]["query"]>;

/** The parameters of GET /v1/search/stream, of which some may have their names of a SearchRequest. */
export type StreamRequest = { [Name in keyof Omit<StreamParameters, "q" | "slots">]?: StreamParameters[Name] | null } & {
  query?: string | null;
  page?: number | null;
  safe_search?: number | null;
  deadline_ms?: number | null;
  slots?: Record<string, string> | null;
};

export type StreamEvent =
  | ({ event: "partial"; arrived: number; wanted: number } & SearchResponse)
  | ({ event: "final" } & SearchResponse);

export interface MetafuseOptions {
  /** "http://HOST:PORT"; default: the page's own origin. */
  url?: string;
  /** API key, if the server needs one. */
  key?: string;
  /** Used instead of the global fetch. */
  fetch?: typeof fetch;
  /** Longest wait for an answer, or for the next part of a stream, in ms; default 30,000, 0 for no limit. */
  timeout?: number;
}

export interface CallOptions {
  signal?: AbortSignal;
}

/** The reason why the server refused a request or could not be reached. */
export class MetafuseError extends Error {
  constructor(message: string, status: number, retryAfter?: number);
  /** Status of the HTTP answer; 0 if there was none. */
  readonly status: number;
  /** Seconds to wait before a retry, if the server names them. */
  readonly retryAfter?: number;
}

export class Metafuse {
  constructor(options?: MetafuseOptions);
  search(query: string | SearchRequest, options?: CallOptions & Partial<SearchRequest>): Promise<SearchResponse>;
  stream(query: string | StreamRequest, options?: CallOptions & StreamRequest): AsyncGenerator<StreamEvent, void, undefined>;
  fuse(request: FuseList[] | FuseRequest, options?: CallOptions & Partial<FuseRequest>): Promise<FuseResponse>;
  addDocuments(domain: string, documents: Iterable<SourceDocument>, options?: CallOptions): Promise<number>;
  removeDocuments(domain: string, urls: string[], options?: CallOptions): Promise<number>;
  fuseAll(requests: FuseRequest[], options?: CallOptions): Promise<(FuseResponse | FuseRefusal)[]>;
  rerank(request: RerankRequest, options?: CallOptions & Partial<RerankRequest>): Promise<RerankResponse>;
  feedback(feedback: FeedbackRequest, options?: CallOptions): Promise<FeedbackResponse>;
  click(searchId: string, result: { position: number } | { url: string } | { id: string }): Promise<FeedbackResponse>;
}
