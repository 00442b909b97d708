// Clients from npm of the dialects that chat programs use: Cohere's reranker in both versions, LibreChat's own search and
// rerankers, Perplexity's search, and the two tools of ChatGPT's connectors by the MCP SDK.
import assert from "node:assert/strict";
import { CohereClient, CohereClientV2 } from "cohere-ai";
import Perplexity from "@perplexity-ai/perplexity_ai";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { createServer } from "node:http";
import { startServer } from "./server.mjs";

const site = createServer((_, response) => {
  response.writeHead(200, { "Content-Type": "text/html" });
  response.end("<title>GNU nano</title><h1>The editor</h1><p>Small and friendly, with a help line.</p>");
});
await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
const page = `http://127.0.0.1:${site.address().port}/nano`;
const server = await startServer(`fetch_pages: {allow_private: ["127.0.0.1:${site.address().port}"]}\n`);
const documents = ["Bread is baked in an oven.", "A slow VPN: choose another gateway.", "Nothing of it."];

async function cohere() {
  const one = new CohereClient({ token: "any", environment: server.address });
  const first = await one.rerank({ query: "slow vpn gateway", documents, topN: 2, returnDocuments: true });
  assert.equal(first.results.length, 2);
  assert.equal(first.results[0].index, 1);
  assert.equal(first.results[0].document.text, documents[1]);
  const objects = await one.rerank({ query: "vpn", rankFields: ["title"], documents: [{ title: "oven" }, { title: "vpn" }] });
  assert.equal(objects.results[0].index, 1);
  const two = new CohereClientV2({ token: "any", environment: server.address });
  const second = await two.rerank({ model: "rerank-v3.5", query: "slow vpn gateway", documents, topN: 1 });
  assert.deepEqual(second.results.map((result) => result.index), [1]);
  assert.ok(second.results[0].relevanceScore > 0 && second.results[0].relevanceScore <= 1);
  const many = Array.from({ length: 1001 }, (_, i) => `document ${i}`);
  await assert.rejects(two.rerank({ model: "m", query: "a", documents: many }, { maxRetries: 0 }), (failure) => {
    assert.equal(failure.statusCode, 400);
    assert.match(failure.body.message, /1001 documents/);
    return true;
  });
}

async function perplexity() {
  const client = new Perplexity({ apiKey: "any", baseURL: `${server.address}/perplexity`, maxRetries: 0 });
  const found = await client.search.create({ query: ["text editor", "friendly editor"], max_results: 2 });
  assert.equal(found.results.length, 2);
  for (const result of found.results) assert.ok(result.url.startsWith("https://") && result.title && result.snippet);
  const only = await client.search.create({ query: "text editor", search_domain_filter: ["nano-editor.org"] });
  assert.deepEqual(only.results.map((result) => result.url), ["https://nano-editor.org/"]);
  await assert.rejects(client.search.create({ query: "a", max_results: 21 }), (failure) => failure.status === 400);
}

async function connectors() {
  const client = new Client({ name: "integration-test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.address}/mcp`)));
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert.ok(names.includes("search") && names.includes("fetch"));
  const found = await client.callTool({ name: "search", arguments: { query: "text editor" } });
  assert.equal(found.content.length, 1);
  const { results } = JSON.parse(found.content[0].text);
  assert.deepEqual(Object.keys(results[0]).sort(), ["id", "title", "url"]);
  const read = await client.callTool({ name: "fetch", arguments: { id: page } });
  const document = JSON.parse(read.content[0].text);
  assert.match(document.text, /help line/);
  assert.deepEqual(Object.keys(document).sort(), ["id", "metadata", "text", "title", "url"]);
  const several = await client.callTool({ name: "search_software", arguments: { query: "vim", queries: ["nano", "emacs"] } });
  for (const host of ["vim.org", "nano-editor.org", "gnu.org"]) assert.ok(several.content[0].text.includes(host));
  await client.close();
}

try {
  await cohere();
  await perplexity();
  await connectors();
  console.log("rerank_client_test: passed");
} finally {
  await server.stop();
  site.close();
}
