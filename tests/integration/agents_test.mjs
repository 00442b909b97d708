// Agents' ways to the search tools, with clients from npm: the SDK on standard streams, MCP Inspector's command line,
// LangChain and LlamaIndex.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { TavilySearch } from "@langchain/tavily";
import { mcp } from "@llamaindex/tools";
import { startServer } from "./server.mjs";

const server = await startServer();
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
  assert.match(tools[0].description, /Home pages of software.*Sources: local/);
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
  console.log("agents_test: passed");
} finally {
  await server.stop();
}
