// /openapi.json with the tools that others read it with: Redocly's linter, swagger-parser, and a client that a
// generator from npm makes of it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import SwaggerParser from "@apidevtools/swagger-parser";
import { startServer } from "./server.mjs";

const server = await startServer();
const run = (program, ...args) =>
  execFileSync("node", [`node_modules/.bin/${program}`, ...args], { stdio: "pipe", encoding: "utf8", env: { ...process.env, REDOCLY_TELEMETRY: "off" } });

async function generated() {
  rmSync("generated", { recursive: true, force: true });
  run("openapi-ts", "-i", "openapi.json", "-o", "generated/source", "-c", "@hey-api/client-fetch");
  const compilerOptions = { rootDir: "source", outDir: "built", target: "es2022", module: "commonjs", moduleResolution: "node10", skipLibCheck: true, types: [] };
  writeFileSync("generated/tsconfig.json", JSON.stringify({ compilerOptions, include: ["source"] }));
  run("tsc", "-p", "generated");
  writeFileSync("generated/built/package.json", '{"type":"commonjs"}');
  const load = createRequire(join(process.cwd(), "generated/built/index.js"));
  const sdk = load("./sdk.gen.js");
  const { client } = load("./client.gen.js");
  client.setConfig({ baseUrl: server.address });
  const found = await sdk.postV1Search({ body: { query: "text editor", limit: 2 } });
  assert.equal(found.data.results.length, 2);
  const fused = await sdk.postV1Fuse({ body: { lists: [{ name: "a", results: ["x", "y"] }] } });
  assert.equal(fused.data.results[0].id, "x");
  const clicked = await sdk.postV1Feedback({ body: { search_id: found.data.search_id, position: 1 } });
  assert.equal(clicked.data.outcome, "recorded");
  const searched = await sdk.getSearch({ query: { slots: { "slot.TOPIC": "nano" }, format: "json" } });
  assert.equal(searched.data.results[0].url, "https://nano-editor.org/");
  const refused = await sdk.getV1Models();
  assert.equal(refused.error.status, 401);
  const models = await sdk.getV1Models({ auth: "admin-key" });
  assert.ok(models.data.models.length > 0);
}

try {
  const description = await (await fetch(`${server.address}/openapi.json`)).json();
  assert.equal(description.servers[0].url, server.address);
  writeFileSync("openapi.json", JSON.stringify(description));
  const parsed = await SwaggerParser.validate(structuredClone(description));
  assert.equal(Object.keys(parsed.paths).length, Object.keys(description.paths).length);
  // the form of /preferences answers with a redirect alone
  writeFileSync("redocly.yaml", "extends: [recommended]\nrules: {operation-2xx-response: off}\n");
  const linted = JSON.parse(run("redocly", "lint", "openapi.json", "--config", "redocly.yaml", "--format", "json"));
  assert.deepEqual(linted.problems.map((problem) => `${problem.ruleId} ${problem.message} ${problem.location?.[0]?.pointer}`), []);
  await generated();
  console.log("openapi_client_test: passed");
} finally {
  await server.stop();
}
