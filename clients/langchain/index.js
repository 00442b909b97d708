// LangChain retrievers over a metafuse server: one that searches it, and one that fuses the caller's own retrievers.
import { createHash } from "node:crypto";
import { Document } from "@langchain/core/documents";
import { BaseRetriever } from "@langchain/core/retrievers";
import { Metafuse } from "metafuse-client";

/** Searches a domain of the server. */
export class MetafuseRetriever extends BaseRetriever {
  static lc_name() {
    return "MetafuseRetriever";
  }

  lc_namespace = ["metafuse", "retrievers"];

  /** @param {import("./index.js").MetafuseRetrieverInput} fields */
  constructor({ url, key, fetch, domain, limit = 10, minRelevance, ...fields } = {}) {
    super(fields);
    this.client = new Metafuse({ url, key, fetch });
    this.request = { limit, ...(domain && { domain }), ...(minRelevance > 0 && { min_relevance: minRelevance }) };
  }

  async _getRelevantDocuments(query) {
    const answer = await this.client.search({ ...this.request, query });
    return answer.results.map((result) => new Document({
      id: result.url,
      pageContent: result.snippet || result.title,
      metadata: {
        source: result.url, title: result.title, rank: result.rank, score: result.score,
        relative_score: result.relative_score, ...(result.relevance !== undefined && { relevance: result.relevance }),
        engines: result.engines, ...(answer.search_id && { search_id: answer.search_id }),
      },
    }));
  }
}

/** The retrievers by name; those of an array are called list0, list1 ... */
const namedRetrievers = (retrievers) =>
  Array.isArray(retrievers) ? retrievers.map((retriever, i) => [`list${i}`, retriever]) : Object.entries(retrievers);

const digest = (text) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

/** An id as the server takes it, of 1 to 1,024 bytes: a document's own, or a digest if it has none or a longer one. */
function idFor(own, text) {
  const id = String(own ?? "");
  if (id === "") return digest(text);
  return Buffer.byteLength(id) > 1024 ? digest(id) : id;
}

/** Asks several retrievers at once and fuses their documents by a domain's model, or by a method. */
export class MetafuseEnsembleRetriever extends BaseRetriever {
  static lc_name() {
    return "MetafuseEnsembleRetriever";
  }

  lc_namespace = ["metafuse", "retrievers"];

  /** @param {import("./index.js").MetafuseEnsembleRetrieverInput} fields */
  constructor({ url, key, fetch, retrievers, domain, method, idKey, limit, ...fields }) {
    super(fields);
    this.client = new Metafuse({ url, key, fetch });
    this.retrievers = namedRetrievers(retrievers ?? []);
    if (this.retrievers.length === 0) throw new TypeError("MetafuseEnsembleRetriever needs retrievers: {NAME: retriever}");
    this.request = domain ? { domain } : { method: method ?? "rrf" };
    this.idKey = idKey;
    this.limit = limit;
  }

  #idOf(document) {
    const id = this.idKey ? document.metadata?.[this.idKey] : document.id;
    return idFor(id, document.pageContent);
  }

  async _getRelevantDocuments(query, runManager) {
    const outcomes = await Promise.allSettled(
      this.retrievers.map(([name, retriever]) => retriever.invoke(query, { callbacks: runManager?.getChild(name) })));
    const failures = outcomes.filter((outcome) => outcome.status === "rejected");
    if (failures.length === outcomes.length) throw failures[0].reason;
    const documents = new Map();
    const lists = outcomes.flatMap((outcome, i) => {
      if (outcome.status === "rejected") return [];
      const results = outcome.value.map((document) => {
        const id = this.#idOf(document);
        if (!documents.has(id)) documents.set(id, document);
        return id;
      });
      return [{ name: this.retrievers[i][0], results }];
    });
    const answer = await this.client.fuse({ ...this.request, query, lists, ...(this.limit && { limit: this.limit }) });
    return answer.results.map((result) => {
      const document = documents.get(result.id);
      return new Document({
        id: document.id,
        pageContent: document.pageContent,
        metadata: {
          ...document.metadata,
          fusion: { rank: result.rank, score: result.score, relative_score: result.relative_score, lists: result.lists,
                    ...(result.relevance !== undefined && { relevance: result.relevance }),
                    ...(answer.search_id && { search_id: answer.search_id }) },
        },
      });
    });
  }
}
