// Tavily's own client and Exa's, from npm, pointed at POST /search.
import assert from "node:assert/strict";
import { tavily } from "@tavily/core";
import { Exa } from "exa-js";
import { startServer } from "./server.mjs";

const server = await startServer();
try {
  const client = tavily({ apiKey: "admin-key", apiBaseURL: server.address });
  const urls = async (query, options) => (await client.search(query, options)).results.map((item) => item.url);

  const found = await client.search("text editor", { includeAnswer: true, includeRawContent: "text", includeImages: true });
  assert.equal(found.query, "text editor");
  assert.equal(found.results.length, 3);
  assert.equal(found.answer ?? null, null); // nothing is made up
  assert.deepEqual(found.images, []);
  assert.equal(typeof found.responseTime, "number");
  for (const result of found.results) {
    assert.ok(result.score >= 0 && result.score <= 1);
    assert.ok(result.title.length > 0 && result.content.length > 0);
    assert.equal(result.rawContent ?? null, null);
  }
  assert.deepEqual(found.results.map((item) => item.score), found.results.map((item) => item.score).sort((a, b) => b - a));

  assert.equal((await urls("text editor", { maxResults: 1 })).length, 1);
  assert.deepEqual(await urls("text editor", { includeDomains: ["nano-editor.org"] }), ["https://nano-editor.org/"]);
  assert.ok(!(await urls("text editor", { excludeDomains: ["gnu.org"] })).some((url) => url.includes("gnu.org")));
  assert.deepEqual(await urls("text editor", { startDate: "2024-01-01" }), []); // this engine gives no dates
  assert.equal((await urls("text editor", { searchDepth: "advanced", topic: "news", timeRange: "week" })).length, 3);
  assert.deepEqual(await urls('"small friendly" editor', { exactMatch: true }), ["https://nano-editor.org/"]);

  // searching is open here, so a key that nobody knows is none
  const stranger = tavily({ apiKey: "tvly-stranger", apiBaseURL: server.address });
  assert.equal((await stranger.search("text editor")).results.length, 3);
  await assert.rejects(client.search(""));
  await assert.rejects(client.search("text editor", { searchDepth: "deepest" }));
  await assert.rejects(client.search("text editor", { maxResults: 21 }));

  const exa = new Exa("any", server.address);
  const { results } = await exa.search("text editor", { numResults: 2 });
  assert.equal(results.length, 2);
  for (const result of results) assert.ok(result.id === result.url && result.title && result.text);
  const only = await exa.search("text editor", { numResults: 5, includeDomains: ["nano-editor.org"] });
  assert.deepEqual(only.results.map((item) => item.url), ["https://nano-editor.org/"]);
  assert.ok(!(await exa.search("text editor", { excludeDomains: ["gnu.org"] })).results.some((item) => item.url.includes("gnu.org")));
  await assert.rejects(exa.search("text editor", { numResults: 1000 }), (failure) => failure.statusCode === 400);
  console.log("tavily_client_test: passed");
} finally {
  await server.stop();
}
