"use strict";
// An n8n node over a metafuse server. It can be used in a workflow and as a tool of an agent.
const { NodeConnectionTypes, NodeOperationError } = require("n8n-workflow");

const shownFor = (...operations) => ({ show: { operation: operations } });

const properties = [
  {
    displayName: "Operation", name: "operation", type: "options", noDataExpression: true, default: "search",
    options: [
      { name: "Search", value: "search", action: "Search", description: "One item per result, best first" },
      { name: "Rerank", value: "rerank", action: "Order the input items", description: "The input items, ordered by a query" },
      { name: "Read Page", value: "read", action: "Read a page", description: "The readable text of a page" },
    ],
  },
  { displayName: "Query", name: "query", type: "string", default: "", required: true, displayOptions: shownFor("search", "rerank") },
  { displayName: "Domain", name: "domain", type: "string", default: "", displayOptions: shownFor("search", "rerank"),
    description: "What to search; empty for the server's default" },
  { displayName: "Limit", name: "limit", type: "number", default: 10, typeOptions: { minValue: 1, maxValue: 200 },
    displayOptions: shownFor("search", "rerank"), description: "Max number of results to return" },
  { displayName: "Minimum Relevance", name: "minRelevance", type: "number", default: 0,
    typeOptions: { minValue: 0, maxValue: 1, numberPrecision: 2 }, displayOptions: shownFor("search"),
    description: "Leaves out results of a lower relevance; the domain's model must have been trained with --calibrate" },
  { displayName: "Text Field", name: "field", type: "string", default: "text", displayOptions: shownFor("rerank"),
    description: "The field of each item that is compared with the query" },
  { displayName: "URL", name: "url", type: "string", default: "", required: true, displayOptions: shownFor("read") },
];

/** Sends a request with the credential's address and key. */
function ask(node, base, path, body) {
  return node.helpers.httpRequestWithAuthentication.call(node, "metafuseApi", {
    method: "POST", baseURL: base.replace(/\/+$/, ""), url: path, body, json: true });
}

async function search(node, base, i) {
  const domain = node.getNodeParameter("domain", i, "");
  const minRelevance = node.getNodeParameter("minRelevance", i, 0);
  const answer = await ask(node, base, "/v1/search", {
    query: node.getNodeParameter("query", i), limit: node.getNodeParameter("limit", i, 10), ...(domain && { domain }),
    ...(minRelevance > 0 && { min_relevance: minRelevance }) });
  return answer.results.map((json) => ({ json, pairedItem: { item: i } }));
}

async function read(node, base, i) {
  const url = node.getNodeParameter("url", i);
  const answer = await ask(node, base, "/extract", { urls: [url] });
  if (answer.results.length === 0)
    throw new NodeOperationError(node.getNode(), answer.failed_results[0]?.error ?? "the page cannot be read", { itemIndex: i });
  const [{ title = "", raw_content: text }] = answer.results;
  return [{ json: { url, title, text }, pairedItem: { item: i } }];
}

/** Orders all input items at once, by the query of the first. */
async function rerank(node, base, items) {
  const field = node.getNodeParameter("field", 0, "text");
  const model = node.getNodeParameter("domain", 0, "");
  const documents = items.map(({ json }) => String(json[field] ?? ""));
  const answer = await ask(node, base, "/v1/rerank", {
    query: node.getNodeParameter("query", 0), documents, top_n: node.getNodeParameter("limit", 0, 10), ...(model && { model }) });
  return answer.results.map(({ index, relevance_score }) => ({
    ...items[index], json: { ...items[index].json, relevance_score }, pairedItem: { item: index } }));
}

class Metafuse {
  constructor() {
    this.description = {
      displayName: "metafuse", name: "metafuse", icon: "file:metafuse.svg", group: ["input"], version: 1,
      subtitle: '={{$parameter["operation"]}}',
      description: "Search many engines at once, fused by a ranking that learns",
      defaults: { name: "metafuse" },
      usableAsTool: true,
      inputs: [NodeConnectionTypes.Main], outputs: [NodeConnectionTypes.Main],
      credentials: [{ name: "metafuseApi", required: true }],
      properties,
    };
  }

  async execute() {
    const { url } = await this.getCredentials("metafuseApi");
    const items = this.getInputData();
    const operation = this.getNodeParameter("operation", 0);
    const out = [];
    const add = async (work, pairedItem) => {
      try {
        out.push(...(await work()));
      } catch (error) {
        if (!this.continueOnFail()) throw error;
        out.push({ json: { error: error.message }, pairedItem });
      }
    };
    const places = items.map((_, item) => ({ item }));
    if (operation !== "rerank")
      for (const place of places) await add(() => (operation === "read" ? read : search)(this, url, place.item), place);
    else if (items.length > 0) await add(() => rerank(this, url, items), places);
    return [out];
  }
}

module.exports = { Metafuse };
