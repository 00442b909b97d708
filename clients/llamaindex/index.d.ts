import type { MessageContent } from "@llamaindex/core/llms";
import { BaseRetriever } from "@llamaindex/core/retriever";
import type { NodeWithScore } from "@llamaindex/core/schema";
import type { MetafuseOptions } from "metafuse-client";

export interface MetafuseRetrieverOptions extends MetafuseOptions {
  /** Default: the server's default domain. */
  domain?: string;
  /** Number of nodes, 1 to 200; default 10. */
  limit?: number;
  /** Leaves out results of a lower calibrated relevance, 0 to 1. */
  minRelevance?: number;
}

/**
 * Searches a domain of the server. A node's score is its relevance, or its place in the answer from 1 down to 0. The
 * metadata hold source, title, rank, engines, and search_id for feedback.
 */
export class MetafuseRetriever extends BaseRetriever {
  constructor(options?: MetafuseRetrieverOptions);
  _retrieve(params: { query: MessageContent }): Promise<NodeWithScore[]>;
}

export interface MetafuseFusionRetrieverOptions extends MetafuseOptions {
  /** By the names of the lists. */
  retrievers: Record<string, BaseRetriever>;
  /** The domain whose model fuses, and which learns. */
  domain?: string;
  /** Instead of a domain; default "rrf". */
  method?: string;
  limit?: number;
}

/**
 * Asks several retrievers at once and fuses copies of their nodes; one that fails is a missing list. The metadata get
 * `fusion`: id (as feedback names it), rank, score, relative_score, lists, and search_id with a domain that learns.
 */
export class MetafuseFusionRetriever extends BaseRetriever {
  constructor(options: MetafuseFusionRetrieverOptions);
  _retrieve(params: { query: MessageContent }): Promise<NodeWithScore[]>;
}

export interface MetafuseRerankOptions extends MetafuseOptions {
  /** The domain whose model and rerankers order; default: the default domain. */
  domain?: string;
  topN?: number;
  /** Leaves out nodes of a lower relevance, 0 to 1. */
  minRelevance?: number;
}

/** A node postprocessor that orders nodes by POST /v1/rerank. */
export class MetafuseRerank {
  constructor(options?: MetafuseRerankOptions);
  postprocessNodes(nodes: NodeWithScore[], query?: MessageContent | { query: MessageContent }): Promise<NodeWithScore[]>;
}
