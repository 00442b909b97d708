// A real MCP client, from npm, against POST /mcp.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { startServer } from "./server.mjs";

const server = await startServer();

/// One request of the stateless form (2026-07-28), which the package does not speak yet: no session, every
/// request complete in itself.
async function request(method, params = {}, headers = {}) {
  const version = "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": { name: "integration-test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(new URL("/mcp", server.address), {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": version,
      "Mcp-Method": method,
      ...(params.name ? { "Mcp-Name": params.name } : {}),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
  });
  return { status: response.status, ...(await response.json()) };
}

async function stateless() {
  const { result: discovered } = await request("server/discover");
  assert.ok(discovered.supportedVersions.includes("2026-07-28"));
  assert.ok(discovered.ttlMs > 0 && discovered.cacheScope === "public");
  const { result: listed } = await request("tools/list");
  assert.deepEqual(listed.tools.map((tool) => tool.name), ["search_software", "list_domains", "fetch_page", "search", "fetch"]);
  assert.equal(listed.resultType, "complete");
  const { result: found } = await request("tools/call", {
    name: "search_software",
    arguments: { slots: { TOPIC: "text editor" }, limit: 2, explain: true },
  });
  assert.equal(found.structuredContent.results.length, 2);
  assert.ok(found.structuredContent.results[0].explanation.length > 0);
  assert.equal(found.isError, false);
  const wrong = await request("tools/call", { name: "search_software", arguments: {} }, { "Mcp-Name": "list_domains" });
  assert.deepEqual([wrong.status, wrong.error.code], [400, -32020]);
  const late = await request("tools/list", {}, { "MCP-Protocol-Version": "2031-01-01" });
  assert.deepEqual([late.status, late.error.code], [400, -32022]);
  assert.ok(late.error.data.supported.length > 1);
  const none = await request("initialize");
  assert.deepEqual([none.status, none.error.code], [404, -32601]);
}

try {
  const client = new Client({ name: "integration-test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", server.address)));
  assert.equal(client.getServerVersion().name, "metafuse");
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["search_software", "list_domains", "fetch_page", "search", "fetch"]);
    const found = await client.callTool({ name: "search_software", arguments: { query: "text editor", explain: true } });
  assert.equal(found.isError, false);
  assert.equal(found.structuredContent.results.length, 3);
  const bySlots = await client.callTool({ name: "search_software", arguments: { slots: { TOPIC: "nano" }, limit: 1 } });
  assert.equal(bySlots.structuredContent, undefined); // lean unless it is to be explained
  assert.ok(bySlots.content[0].text.includes("\nhttps://nano-editor.org/\n"));
  const domains = await client.callTool({ name: "list_domains", arguments: {} });
  assert.equal(domains.structuredContent.domains[0].name, "software");
  const wrong = await client.callTool({ name: "search_software", arguments: { domain: "none", query: "x" } });
  assert.equal(wrong.isError, true);
  const inside = await client.callTool({ name: "search_software", arguments: { query: "editor", sites: ["gnu.org"] } });
  assert.ok(inside.content[0].text.includes("gnu.org") && !inside.content[0].text.includes("vim.org"));
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }));
  await client.ping();
  await client.close();
  await stateless();
  console.log("mcp_client_test: passed");
} finally {
  await server.stop();
}
