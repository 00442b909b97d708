// SearXNG's clients from npm, pointed at this server: a library, and a server of the Model Context Protocol that
// asks /search, /config and /autocompleter of what it takes for a SearXNG instance.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { SearxngService } from "searxng";
import { startServer } from "./server.mjs";

const server = await startServer();

async function library() {
  const client = new SearxngService({ baseURL: server.address, defaultSearchParams: { format: "json", lang: "auto" } });
  const found = await client.search("text editor", { engines: ["local"], categories: ["software"], time_range: "month" });
  assert.equal(found.query, "text editor");
  assert.equal(found.results.length, 3);
  for (const member of ["answers", "corrections", "infoboxes", "suggestions", "unresponsive_engines"])
    assert.ok(Array.isArray(found[member]), member);
  for (const result of found.results) {
    assert.ok(result.title && result.content && result.engines.includes("local"));
    assert.equal(new URL(result.url).host, result.parsed_url[1]);
    assert.ok(result.score > 0 && result.positions.every((place) => place >= 1));
  }
  assert.equal((await client.search("text editor", { pageno: 2 })).results.length, 0);
  assert.equal((await client.search("nothing of this")).results.length, 0);
  await assert.rejects(client.search(""), /400/);
  await assert.rejects(client.search("text editor", { format: "xml" }), /403/);
}

/// LangChain's SearxngSearch posts no body, says that it is JSON, and puts its parameters into the target.
async function langchain() {
  const response = await fetch(`${server.address}/search?q=text+editor&numResults=10&pageNumber=1&format=json&imageProxy=true&safesearch=0`,
    { method: "POST", headers: { "content-type": "application/json" } });
  assert.equal(response.status, 200);
  assert.equal((await response.json()).results.length, 3);
}

async function contextServer() {
  const client = new Client({ name: "integration-test", version: "1" });
  await client.connect(new StdioClientTransport({
    command: process.execPath,
    args: ["node_modules/mcp-searxng/dist/cli.js"],
    env: { ...process.env, SEARXNG_URL: server.address },
    stderr: "ignore",
  }));
  const text = async (name, args = {}) => {
    const answer = await client.callTool({ name, arguments: args });
    return (answer.isError ? "ERROR " : "") + answer.content[0].text;
  };
  const found = await text("searxng_web_search", { query: "text editor", engines: "local", categories: "software" });
  for (const [url, title] of [["https://nano-editor.org/", "GNU nano"], ["https://www.vim.org/", "Vim the editor"]])
    assert.ok(found.includes(url) && found.includes(title), found);
  // it reads from /config that the embedded engine knows no dates
  assert.match(await text("searxng_web_search", { query: "text editor", engines: "local", time_range: "month" }), /ERROR/);
  assert.match(await text("searxng_instance_info"), /"software"/);
  assert.match(await text("searxng_search_suggestions", { query: "text" }), /"suggestions"/);
  await client.close();
}

try {
  await library();
  await langchain();
  await contextServer();
  console.log("searxng_client_test: passed");
} finally {
  await server.stop();
}
