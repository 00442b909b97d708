// LangChain retrievers over a metafuse server: one that searches it, and one that fuses the caller's own retrievers.
import { AsyncLocalStorage } from "node:async_hooks";
import { Document } from "@langchain/core/documents";
import { BaseRetriever } from "@langchain/core/retrievers";
import { ensureConfig } from "@langchain/core/runnables";
import { Metafuse } from "metafuse-client";
import { fuseRetrieved, idFor } from "metafuse-client/adapters";

/** The signal of each invoke(): LangChain does not pass it on to retrievers. */
const signals = new AsyncLocalStorage();

/** A retriever whose requests end with the `signal` and the `timeout` of its invoke(). */
class EndingRetriever extends BaseRetriever {
  lc_namespace = ["metafuse", "retrievers"];

  async invoke(input, options) {
    const config = Array.isArray(options) ? options : ensureConfig(options); // one signal for both; a list has callbacks
    return signals.run(config.signal, () => super.invoke(input, config));
  }
}

/** Searches a domain of the server. */
export class MetafuseRetriever extends EndingRetriever {
  static lc_name() {
    return "MetafuseRetriever";
  }

  /** @param {import("./index.js").MetafuseRetrieverInput} fields */
  constructor({ url, key, fetch, timeout, domain, limit = 10, minRelevance, ...fields } = {}) {
    super(fields);
    this.client = new Metafuse({ url, key, fetch, timeout });
    this.request = { limit, ...(domain && { domain }), ...(minRelevance > 0 && { min_relevance: minRelevance }) };
  }

  async _getRelevantDocuments(query) {
    const answer = await this.client.search({ ...this.request, query }, { signal: signals.getStore() });
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

/** Asks several retrievers at once and fuses their documents by a domain's model, or by a method. */
export class MetafuseEnsembleRetriever extends EndingRetriever {
  static lc_name() {
    return "MetafuseEnsembleRetriever";
  }

  /** @param {import("./index.js").MetafuseEnsembleRetrieverInput} fields */
  constructor({ url, key, fetch, timeout, retrievers, domain, method, idKey, limit, ...fields }) {
    super(fields);
    this.client = new Metafuse({ url, key, fetch, timeout });
    this.retrievers = namedRetrievers(retrievers ?? []);
    if (this.retrievers.length === 0) throw new TypeError("MetafuseEnsembleRetriever needs retrievers: {NAME: retriever}");
    this.request = { ...(domain ? { domain } : { method: method ?? "rrf" }), ...(limit && { limit }) };
    this.idKey = idKey;
  }

  async _getRelevantDocuments(query, runManager) {
    const signal = signals.getStore();
    const fused = await fuseRetrieved(this.client, {
      retrievers: this.retrievers,
      ask: (retriever, name) => retriever.invoke(query, { callbacks: runManager?.getChild(name), signal }),
      idOf: (document) => idFor(this.idKey ? document.metadata?.[this.idKey] : document.id, document.pageContent),
      request: { ...this.request, query },
      signal,
    });
    return fused.map(({ item: { id, pageContent, metadata }, fusion }) =>
      new Document({ id, pageContent, metadata: { ...metadata, fusion } }));
  }
}
