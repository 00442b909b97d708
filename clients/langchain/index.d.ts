import type { CallbackManagerForRetrieverRun } from "@langchain/core/callbacks/manager";
import type { DocumentInterface } from "@langchain/core/documents";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";
import type { MetafuseOptions } from "metafuse-client";

export interface MetafuseRetrieverInput extends BaseRetrieverInput, MetafuseOptions {
  /** Default: the server's default domain. */
  domain?: string;
  /** Number of documents, 1 to 200; default 10. */
  limit?: number;
  /** Leaves out results of a lower calibrated relevance, 0 to 1; the domain's model must have been trained with --calibrate. */
  minRelevance?: number;
}

/** Searches a domain of the server. The metadata hold source, title, rank, score, relative_score and engines. */
export class MetafuseRetriever extends BaseRetriever {
  lc_namespace: string[];
  constructor(fields?: MetafuseRetrieverInput);
  _getRelevantDocuments(query: string, runManager?: CallbackManagerForRetrieverRun): Promise<DocumentInterface[]>;
}

export interface MetafuseEnsembleRetrieverInput extends BaseRetrieverInput, MetafuseOptions {
  /** By the names of the lists; in an array they are called list0, list1 ... */
  retrievers: Record<string, BaseRetriever> | BaseRetriever[];
  /** The domain whose model fuses, and which learns; its file declares the names (`lists: [bm25, dense]`). */
  domain?: string;
  /** Instead of a domain: a method of `metafuse fuse --list-methods`; default "rrf". */
  method?: string;
  /** The member of the metadata that identifies a document instead of its `id`; one that lacks it: a digest of its text. */
  idKey?: string;
  limit?: number;
}

/**
 * Asks several retrievers at once and fuses their documents. A retriever that fails is a missing list; if all fail, so
 * does this one. The metadata get `fusion`: id (as feedback names it), rank, score, relative_score, lists, and search_id
 * with a domain that learns.
 */
export class MetafuseEnsembleRetriever extends BaseRetriever {
  lc_namespace: string[];
  constructor(fields: MetafuseEnsembleRetrieverInput);
  _getRelevantDocuments(query: string, runManager?: CallbackManagerForRetrieverRun): Promise<DocumentInterface[]>;
}
