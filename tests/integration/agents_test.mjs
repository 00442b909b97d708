// Agents' ways to the search tools, with clients from npm: the SDK on standard streams, MCP Inspector's command line,
// LangChain and LlamaIndex.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { createServer } from "node:http";
import { TavilyExtract, TavilySearch } from "@langchain/tavily";
import { mcp } from "@llamaindex/tools";
import { tavily } from "@tavily/core";
import { startServer } from "./server.mjs";

const site = createServer((request, response) => {
  const isPage = request.url === "/nano";
  response.writeHead(isPage ? 200 : 404, { "Content-Type": "text/html" });
  response.end(isPage ? "<title>GNU nano</title><nav>menu</nav><h1>The editor</h1><p>Small and <b>friendly</b>, with a help line.</p>" : "");
});
await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
const page = `http://127.0.0.1:${site.address().port}/nano`;
const server = await startServer(`fetch_pages: {allow_private: ["127.0.0.1:${site.address().port}"]}\n`);
const alone = ["mcp", "--config", server.config];
const relay = ["mcp", "--url", server.address];
const nano = "\nhttps://nano-editor.org/\n";

async function sdkOverStdio(args) {
  const client = new Client({ name: "integration-test", version: "1" });
  const transport = new StdioClientTransport({ command: server.metafuse, args, stderr: "ignore" });
  const complaints = [];
  transport.onerror = (error) => complaints.push(error);
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.equal(tools[0].name, "search_software");
  assert.match(tools[0].description, /Home pages of software.*Sources: this server's own index/);
  const calls = ["nano", "vim", "emacs", "editor"].map((query) =>
    client.callTool({ name: "search_software", arguments: { query } }));
  const texts = (await Promise.all(calls)).map((answer) => answer.content[0].text);
  assert.ok(texts[0].includes(nano) && texts[1].includes("vim.org") && texts[2].includes("emacs"));
  await client.ping();
  await client.close();
  assert.deepEqual(complaints, []); // no line that is not protocol
}

function inspect(target, ...more) {
  const command = ["node_modules/.bin/mcp-inspector", "--cli", ...target, ...more];
  return JSON.parse(execFileSync("node", command, { encoding: "utf8", timeout: 60_000, stdio: ["ignore", "pipe", "ignore"] }));
}

function inspector() {
  // its own --config would take the server's
  const stdio = [server.metafuse, "mcp", "-e", `METAFUSE_CONFIG=${server.config}`];
  for (const target of [stdio, [`${server.address}/mcp`, "--transport", "http"]]) {
    assert.equal(inspect(target, "--method", "tools/list").tools[0].name, "search_software");
    const found = inspect(target, "--method", "tools/call", "--tool-name", "search_software", "--tool-arg", "query=nano");
    assert.ok(found.content[0].text.includes(nano));
  }
}

async function langchain() {
  const client = new MultiServerMCPClient({
    mcpServers: {
      stdio: { transport: "stdio", command: server.metafuse, args: alone, stderr: "ignore" },
      http: { transport: "http", url: `${server.address}/mcp` },
    },
    prefixToolNameWithServerName: true,
  });
  const tools = await client.getTools();
  const searches = tools.filter((tool) => tool.name.endsWith("search_software"));
  assert.equal(searches.length, 2);
  for (const tool of searches) assert.ok(String(await tool.invoke({ query: "nano" })).includes("nano-editor.org"));
  await client.close();
  const tavily = new TavilySearch({ tavilyApiKey: "tvly-dummy", apiBaseUrl: server.address, maxResults: 2 });
  const found = await tavily.invoke({ query: "text editor" });
  assert.equal(found.results.length, 2);
}

/// POST /extract by the clients that people have for it, and the same page by the tool.
async function extract() {
  const reader = new TavilyExtract({ tavilyApiKey: "tvly-dummy", apiBaseUrl: server.address });
  const read = await reader.invoke({ urls: [page, "http://10.0.0.1/inside"], extractDepth: "basic" });
  assert.equal(read.results.length, 1);
  assert.match(read.results[0].raw_content, /# The editor[^]*Small and \*\*friendly\*\*, with a help line\./);
  assert.doesNotMatch(read.results[0].raw_content, /menu/);
  assert.equal(read.failed_results[0].url, "http://10.0.0.1/inside"); // private addresses are not read
  const client = tavily({ apiKey: "tvly-dummy", apiBaseURL: server.address });
  const plain = await client.extract([page], { format: "text" });
  assert.match(plain.results[0].rawContent, /Small and friendly/);
  const gone = await client.extract([`${page}-gone`]);
  assert.equal(gone.results.length, 0);
  assert.match(gone.failedResults[0].error, /404/);
  const index = mcp({ url: `${server.address}/mcp` });
  const fetchPage = (await index.tools()).find((tool) => tool.metadata.name.endsWith("fetch_page"));
  assert.ok(JSON.stringify(await fetchPage.call({ url: page })).includes("friendly"));
  await index.cleanup();
}

async function llamaindex() {
  const client = mcp({ command: server.metafuse, args: alone, stderr: "ignore" });
  const tools = await client.tools();
  const search = tools.find((tool) => tool.metadata.name.endsWith("search_software"));
  assert.match(search.metadata.description, /Home pages of software/);
  assert.ok(JSON.stringify(await search.call({ query: "nano" })).includes("nano-editor.org"));
  await client.cleanup();
}

try {
  await sdkOverStdio(alone);
  await sdkOverStdio(relay);
  inspector();
  await langchain();
  await llamaindex();
  await extract();
  console.log("agents_test: passed");
} finally {
  await server.stop();
  site.close();
}
