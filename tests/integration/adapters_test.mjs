// clients/langchain, clients/llamaindex and clients/n8n against a real server, with the frameworks from npm.
import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { join } from "node:path";
import { Document } from "@langchain/core/documents";
import { BaseRetriever } from "@langchain/core/retrievers";
import { BaseRetriever as LlamaRetriever } from "@llamaindex/core/retriever";
import { TextNode } from "@llamaindex/core/schema";
import { startServer } from "./server.mjs";

const clients = join(process.env.METAFUSE_SOURCE, "clients");
const packages = { "metafuse-client": "javascript", "@metafuse/langchain": "langchain", "@metafuse/llamaindex": "llamaindex", "n8n-nodes-metafuse": "n8n" };
for (const [name, folder] of Object.entries(packages)) {
  rmSync(join("node_modules", name), { recursive: true, force: true });
  cpSync(join(clients, folder), join("node_modules", name), { recursive: true });
}
const { Metafuse: Client } = await import("metafuse-client");
const { MetafuseEnsembleRetriever, MetafuseRetriever } = await import("@metafuse/langchain");
const llama = await import("@metafuse/llamaindex");
const require = createRequire(import.meta.url);
const { Metafuse } = require("n8n-nodes-metafuse/Metafuse.node.js");
const { MetafuseApi } = require("n8n-nodes-metafuse/MetafuseApi.credentials.js");

const site = createServer((_, response) => {
  response.writeHead(200, { "Content-Type": "text/html" });
  response.end("<title>GNU nano</title><h1>The editor</h1><p>Small and friendly, with a help line.</p>");
});
await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
const page = `http://127.0.0.1:${site.address().port}/nano`;
// a server that accepts requests and never answers
const silent = createServer(() => {});
await new Promise((resolve) => silent.listen(0, "127.0.0.1", resolve));
const silentUrl = `http://127.0.0.1:${silent.address().port}`;
const readable = `fetch_pages: {allow_private: ["127.0.0.1:${site.address().port}"]}\ndefault_domain: software\n`;
const domains = { rag: "version: 1\ndomain: rag\nlists: [bm25, dense]\n" };
const server = await startServer(readable, undefined, undefined, domains);
const url = server.address;
const client = new Client({ url });

class Fixed extends BaseRetriever {
  lc_namespace = ["test"];
  constructor(documents) {
    super();
    this.documents = documents;
  }
  async _getRelevantDocuments() {
    if (this.documents === undefined) throw new Error("down");
    return this.documents;
  }
}

async function langchain() {
  const found = await new MetafuseRetriever({ url, domain: "software", limit: 2 }).invoke("text editor");
  assert.equal(found.length, 2);
  assert.ok(found[0] instanceof Document && found[0].pageContent.length > 0 && found[0].id === found[0].metadata.source);
  assert.equal(found[0].metadata.rank, 1);
  await assert.rejects(new MetafuseRetriever({ url, minRelevance: 0.5 }).invoke("nano"), /have no relevance/);
  const piped = new MetafuseRetriever({ url }).pipe((documents) => documents.map((document) => document.metadata.source));
  assert.ok((await piped.invoke("nano")).includes("https://nano-editor.org/"));

  const documents = ["a", "b", "c"].map((id) => new Document({ id, pageContent: `text ${id}`, metadata: { key: id } }));
  const [a, b, c] = documents;
  const retrievers = { bm25: new Fixed([a, b]), dense: new Fixed([b, c]) };
  const fused = await new MetafuseEnsembleRetriever({ url, retrievers }).invoke("x");
  assert.deepEqual(fused.map((document) => document.id), ["b", "a", "c"]);
  assert.deepEqual(fused[0].metadata.fusion.lists, [{ name: "bm25", rank: 2 }, { name: "dense", rank: 1 }]);
  assert.equal(fused[0].metadata.key, "b");
  const one = await new MetafuseEnsembleRetriever({ url, retrievers: { ...retrievers, dense: new Fixed() }, limit: 1 }).invoke("x");
  assert.deepEqual(one.map((document) => document.id), ["a"]); // a retriever that fails is a missing list
  await assert.rejects(new MetafuseEnsembleRetriever({ url, retrievers: [new Fixed()] }).invoke("x"), /down/);
  const keyed = [new Document({ pageContent: "one", metadata: { key: "k" } }), new Document({ pageContent: "two", metadata: { key: "k" } })];
  const joined = await new MetafuseEnsembleRetriever({ url, retrievers: keyed.map((document) => new Fixed([document])), idKey: "key" }).invoke("x");
  assert.deepEqual(joined.map((document) => document.pageContent), ["one"]);
  // with idKey an id counts for nothing: documents without that member are told apart by their texts
  const lacking = ["one", "two"].map((pageContent) => new Document({ id: "same", pageContent }));
  const apart = await new MetafuseEnsembleRetriever({ url, retrievers: lacking.map((document) => new Fixed([document])), idKey: "key" }).invoke("x");
  assert.deepEqual(apart.map((document) => document.pageContent), ["one", "two"]);
  const texts = ["", "long ".repeat(600), "short"].map((pageContent) => new Document({ pageContent }));
  const named = new Document({ pageContent: "named", id: "n".repeat(2000) });
  const unnamed = await new MetafuseEnsembleRetriever({ url, retrievers: [new Fixed(texts), new Fixed([...texts, named])] }).invoke("x");
  assert.deepEqual(unnamed.map((document) => document.pageContent), [...texts, named].map((document) => document.pageContent));
  assert.deepEqual(unnamed.map((document) => document.id), [undefined, undefined, undefined, named.id]);
  await assert.rejects(new MetafuseEnsembleRetriever({ url, retrievers, domain: "none" }).invoke("x"), /no domain "none"/);
  assert.throws(() => new MetafuseEnsembleRetriever({ url, retrievers: {} }), /needs retrievers/);

  // feedback names a document by the id that it was fused by; long queries and lists are cut to what the server takes
  const many = [named, ...Array.from({ length: 1200 }, (_, i) => new Document({ pageContent: `text ${i}` }))];
  const learned = new MetafuseEnsembleRetriever({ url, retrievers: { bm25: new Fixed(many) }, domain: "rag" });
  const learnedOf = await learned.invoke("ö".repeat(3000));
  assert.equal(learnedOf.length, 1000);
  for (const { metadata: { fusion } } of learnedOf.slice(0, 2)) {
    assert.match(fusion.id, /^sha256:/);
    assert.equal((await client.click(fusion.search_id, { id: fusion.id })).outcome, "recorded");
  }
  const hanging = new MetafuseRetriever({ url: silentUrl });
  await assert.rejects(hanging.invoke("x", { timeout: 100 }), { name: "TimeoutError" });
  await assert.rejects(hanging.invoke("x", { signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
  await assert.rejects(hanging.pipe((found) => found).invoke("x", { timeout: 100 }), { name: "TimeoutError" });
  await assert.rejects(new MetafuseEnsembleRetriever({ url: silentUrl, retrievers, timeout: 100 }).invoke("x"), /nothing came for 100 ms/);
}

class FixedNodes extends LlamaRetriever {
  constructor(ids) {
    super();
    this.ids = ids;
  }
  async _retrieve() {
    return this.ids.map((id) => ({ node: new TextNode({ id_: id, text: `text ${id}` }), score: 1 }));
  }
}

async function llamaindex() {
  const found = await new llama.MetafuseRetriever({ url, limit: 2 }).retrieve({ query: "text editor" });
  assert.equal(found.length, 2);
  assert.ok(found[0].node instanceof TextNode && found[0].score >= found[1].score);
  const retrievers = { bm25: new FixedNodes(["a", "b"]), dense: new FixedNodes(["b", "c"]) };
  const fused = await new llama.MetafuseFusionRetriever({ url, retrievers }).retrieve({ query: "x" });
  assert.deepEqual(fused.map(({ node }) => node.id_), ["b", "a", "c"]);
  assert.match(found[0].node.metadata.search_id, /^[0-9a-f]{48}$/);
  assert.ok(!found[0].node.getContent("LLM").includes("search_id"));
  const long = "n".repeat(2000);
  const learned = new llama.MetafuseFusionRetriever({ url, retrievers: { bm25: new FixedNodes([long]) }, domain: "rag" });
  const [{ node }] = await learned.retrieve({ query: "x" });
  assert.equal(node.id_, long);
  assert.ok(node instanceof TextNode && !node.getContent("LLM").includes("fusion"));
  const { fusion } = node.metadata;
  assert.equal((await client.click(fusion.search_id, { id: fusion.id })).outcome, "recorded");
  await assert.rejects(new llama.MetafuseRetriever({ url: silentUrl, timeout: 100 }).retrieve("x"), /nothing came for 100 ms/);
  const nodes = ["Bread is baked.", "A slow VPN gateway.", "Nothing."].map((text) => ({ node: new TextNode({ text }), score: 0 }));
  const rerank = new llama.MetafuseRerank({ url, topN: 2 });
  const ordered = await rerank.postprocessNodes(nodes, { query: "slow vpn" });
  assert.equal(ordered.length, 2);
  assert.equal(ordered[0].node.text, "A slow VPN gateway.");
  assert.equal((await new llama.MetafuseRerank({ url, minRelevance: 0.5 }).postprocessNodes(nodes, "slow vpn")).length, 1);
  assert.deepEqual(await rerank.postprocessNodes([], "x"), []);
}

/** What n8n gives to a node while it runs. */
function running(parameters, items, continues = false) {
  return {
    getCredentials: async (name) => (assert.equal(name, "metafuseApi"), { url: `${url}/`, key: "" }),
    getInputData: () => items,
    getNode: () => ({ name: "metafuse" }),
    getNodeParameter: (name, _, fallback) => parameters[name] ?? fallback,
    continueOnFail: () => continues,
    helpers: {
      async httpRequestWithAuthentication(_, { method, baseURL, url: path, body }) {
        const response = await fetch(baseURL + path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
        if (!response.ok) throw new Error(`${response.status}`);
        return response.json();
      },
    },
  };
}

async function n8n() {
  const node = new Metafuse();
  assert.equal(node.description.credentials[0].name, new MetafuseApi().name);
  assert.deepEqual(node.description.outputs, ["main"]);
  const run = async (parameters, items, continues) => (await node.execute.call(running(parameters, items, continues)))[0];
  const found = await run({ operation: "search", query: "text editor", limit: 2 }, [{ json: {} }]);
  assert.equal(found.length, 2);
  await assert.rejects(run({ operation: "search", query: "nano", minRelevance: 0.5 }, [{ json: {} }]), /400/); // no calibrated model
  assert.ok(found[0].json.url.startsWith("https://") && found[0].pairedItem.item === 0);
  const items = ["bread", "a slow vpn"].map((text) => ({ json: { text }, binary: { file: { data: text } } }));
  const ordered = await run({ operation: "rerank", query: "vpn" }, items);
  assert.deepEqual(ordered.map((item) => item.json.text), ["a slow vpn", "bread"]);
  assert.deepEqual(ordered.map((item) => item.binary.file.data), ["a slow vpn", "bread"]);
  const [read] = await run({ operation: "read", url: page }, [{ json: {} }]);
  assert.match(read.json.text, /help line/);
  await assert.rejects(run({ operation: "read", url: "http://10.0.0.1/" }, [{ json: {} }]));
  const [failed] = await run({ operation: "read", url: "http://10.0.0.1/" }, [{ json: {} }], true);
  assert.ok(failed.json.error.length > 0);
  await assert.rejects(run({ operation: "rerank", query: "" }, items), /400/);
  const [unordered] = await run({ operation: "rerank", query: "" }, items, true);
  assert.deepEqual(unordered, { json: { error: "400" }, pairedItem: [{ item: 0 }, { item: 1 }] });
}

try {
  await langchain();
  await llamaindex();
  await n8n();
  console.log("adapters_test: passed");
} finally {
  await server.stop();
  site.close();
  silent.closeAllConnections();
  silent.close();
}
