// LibreChat's own web search, from npm: it finds and reads pages in Tavily's dialect, and orders their parts by Jina's.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { resolve as absolute } from "node:path";
import { startServer } from "./server.mjs";

// in a folder of its own: it brings half a gigabyte, and other versions of LangChain
const folder = absolute("librechat");
if (!existsSync(`${folder}/node_modules/@librechat/agents/dist`)) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/package.json`, '{"private": true}\n');
  try {
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts", "@librechat/agents@3.9.2"], { cwd: folder });
  } catch {
    console.log("SKIPPED: npm cannot install @librechat/agents");
    process.exit(77);
  }
}
const { createSearchTool } = createRequire(`${folder}/package.json`)("@librechat/agents");

const words = "The editor is small and friendly, with a help line below the text. ".repeat(20);
const asked = [];
const site = createServer((request, response) => {
  response.writeHead(200, { "Content-Type": "text/html" });
  response.end(`<title>${request.url}</title><h1>Pages</h1><p>${words}</p><p>Bread is baked in an oven. ${words}</p>`);
});
await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
const base = `127.0.0.1:${site.address().port}`;
const documents = ["nano", "vim"].map((name) => [`http://${base}/${name}`, `${name}, a text editor`, "edits text"]);
const server = await startServer(`fetch_pages: {allow_private: ["${base}"]}\n`, "127.0.0.1", documents);
// between LibreChat and the server, to see which paths it asks
const relay = createServer(async (request, response) => {
  asked.push(request.url);
  const body = await new Promise((resolve) => {
    const parts = [];
    request.on("data", (part) => parts.push(part)).on("end", () => resolve(Buffer.concat(parts)));
  });
  const answer = await fetch(server.address + request.url, { method: request.method, body, headers: {
    "Content-Type": "application/json", Authorization: request.headers.authorization } });
  response.writeHead(answer.status, { "Content-Type": "application/json" });
  response.end(Buffer.from(await answer.arrayBuffer()));
});
await new Promise((resolve) => relay.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${relay.address().port}`;
try {
  const tool = createSearchTool({
    searchProvider: "tavily", tavilyApiKey: "any", tavilySearchUrl: `${address}/search`,
    scraperProvider: "tavily", tavilyExtractUrl: `${address}/extract`,
    rerankerType: "jina", jinaApiKey: "any", jinaApiUrl: `${address}/v1/rerank`,
  });
  const found = await tool.invoke({ type: "tool_call", id: "1", name: tool.name, args: { query: "text editor help line" } });
  const text = String(found.content);
  for (const [url] of documents) assert.ok(text.includes(url), text.slice(0, 500));
  assert.match(text, /help line/); // a part of a page, chosen by the reranker
  for (const path of ["/search", "/extract", "/v1/rerank"]) assert.ok(asked.includes(path), `${path} of ${asked}`);
  console.log("librechat_client_test: passed");
} finally {
  relay.close();
  relay.closeAllConnections();
  await server.stop();
  site.close();
}
