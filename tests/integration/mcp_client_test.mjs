// A real MCP client, from npm, against POST /mcp.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { startServer } from "./server.mjs";

const server = await startServer();
try {
  const client = new Client({ name: "integration-test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", server.address)));
  assert.equal(client.getServerVersion().name, "metafuse");
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["web_search", "list_domains"]);
  // the client checks structuredContent against the tool's outputSchema
  const found = await client.callTool({ name: "web_search", arguments: { query: "text editor", explain: true } });
  assert.equal(found.isError, false);
  assert.equal(found.structuredContent.results.length, 3);
  const bySlots = await client.callTool({ name: "web_search", arguments: { slots: { TOPIC: "nano" }, limit: 1 } });
  assert.equal(bySlots.structuredContent.results[0].url, "https://nano-editor.org/");
  const domains = await client.callTool({ name: "list_domains", arguments: {} });
  assert.equal(domains.structuredContent.domains[0].name, "software");
  const wrong = await client.callTool({ name: "web_search", arguments: { domain: "none", query: "x" } });
  assert.equal(wrong.isError, true);
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }));
  await client.ping();
  await client.close();
  console.log("mcp_client_test: passed");
} finally {
  await server.stop();
}
