// LlamaIndex.TS over a metafuse server: a retriever that searches it, one that fuses the caller's retrievers, and a node
// postprocessor that orders nodes by the server's reranker.
import { BaseRetriever } from "@llamaindex/core/retriever";
import { MetadataMode, TextNode } from "@llamaindex/core/schema";
import { Metafuse } from "metafuse-client";
import { fuseRetrieved, idFor } from "metafuse-client/adapters";

const textOf = (query) => (typeof query === "string" ? query : query.map((part) => part.text ?? "").join(" "));

/** What feedback needs is for programs: neither models nor embeddings read it. */
const unread = (keys) => ({ excludedEmbedMetadataKeys: keys, excludedLlmMetadataKeys: keys });

/** A copy of the caller's node with `fusion` in its metadata. */
function withFusion(node, fusion) {
  const { excludedEmbedMetadataKeys, excludedLlmMetadataKeys } = node;
  return new node.constructor({
    ...node.toJSON(),
    metadata: { ...node.metadata, fusion },
    excludedEmbedMetadataKeys: [...excludedEmbedMetadataKeys, "fusion"],
    excludedLlmMetadataKeys: [...excludedLlmMetadataKeys, "fusion"],
  });
}

/** Searches a domain of the server. */
export class MetafuseRetriever extends BaseRetriever {
  /** @param {import("./index.js").MetafuseRetrieverOptions} options */
  constructor({ url, key, fetch, timeout, domain, limit = 10, minRelevance } = {}) {
    super();
    this.client = new Metafuse({ url, key, fetch, timeout });
    this.request = { limit, ...(domain && { domain }), ...(minRelevance > 0 && { min_relevance: minRelevance }) };
  }

  async _retrieve({ query }) {
    const answer = await this.client.search({ ...this.request, query: textOf(query) });
    return answer.results.map((result) => ({
      node: new TextNode({
        id_: result.url,
        text: result.snippet || result.title,
        metadata: {
          source: result.url, title: result.title, rank: result.rank, engines: result.engines.join(", "),
          ...(answer.search_id && { search_id: answer.search_id }),
        },
        ...unread(["search_id"]),
      }),
      score: result.relevance ?? result.relative_score,
    }));
  }
}

/** Asks several retrievers at once and fuses their nodes by a domain's model, or by a method. */
export class MetafuseFusionRetriever extends BaseRetriever {
  /** @param {import("./index.js").MetafuseFusionRetrieverOptions} options */
  constructor({ url, key, fetch, timeout, retrievers, domain, method, limit }) {
    super();
    this.client = new Metafuse({ url, key, fetch, timeout });
    this.retrievers = Object.entries(retrievers ?? {});
    if (this.retrievers.length === 0) throw new TypeError("MetafuseFusionRetriever needs retrievers: {NAME: retriever}");
    this.request = { ...(domain ? { domain } : { method: method ?? "rrf" }), ...(limit && { limit }) };
  }

  async _retrieve({ query }) {
    const fused = await fuseRetrieved(this.client, {
      retrievers: this.retrievers,
      ask: (retriever) => retriever.retrieve({ query }),
      idOf: ({ node }) => idFor(node.id_, node.getContent(MetadataMode.NONE)),
      request: { ...this.request, query: textOf(query) },
    });
    return fused.map(({ item: { node }, result, fusion }) => ({
      node: withFusion(node, fusion),
      score: result.relevance ?? result.relative_score,
    }));
  }
}

/** Orders nodes by POST /v1/rerank. */
export class MetafuseRerank {
  /** @param {import("./index.js").MetafuseRerankOptions} options */
  constructor({ url, key, fetch, timeout, domain, topN, minRelevance = 0 } = {}) {
    this.client = new Metafuse({ url, key, fetch, timeout });
    this.domain = domain;
    this.topN = topN;
    this.minRelevance = minRelevance;
  }

  async postprocessNodes(nodes, query) {
    if (nodes.length === 0) return [];
    if (query === undefined) throw new TypeError("MetafuseRerank needs the query");
    const documents = nodes.map(({ node }) => node.getContent(MetadataMode.NONE));
    const answer = await this.client.rerank({
      query: textOf(typeof query === "object" && "query" in query ? query.query : query), documents,
      ...(this.domain && { model: this.domain }), ...(this.topN && { top_n: this.topN }) });
    return answer.results
      .filter((result) => result.relevance_score >= this.minRelevance)
      .map((result) => ({ ...nodes[result.index], score: result.relevance_score }));
  }
}
