// `engine: postgresql` with `search: vector` against PostgreSQL with the extension pgvector: both compiled to
// WebAssembly (PGlite), behind PostgreSQL's own wire protocol. Debian 12 has no package of pgvector.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";

const metafuse = process.env.METAFUSE ?? "build/release/metafuse";
const pages = [
  ["tea", "Boil water in a kettle for tea.", [1, 0.1, 0]],
  ["coffee", "Grind coffee beans and boil water.", [0.8, 0.6, 0]],
  ["roses", "Plant roses in spring.", [0, 0.2, 1]],
];

/// What /v1/embeddings says of a text.
const meanings = { "hot drinks": [0.9, 0.3, 0], garden: [0, 0, 1], "too short": [1, 0] };

function startEmbeddings() {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      const data = JSON.parse(body).input.map((text, index) => ({ index, embedding: meanings[text] }));
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ data }));
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

function run(args) {
  return new Promise((resolve) => {
    const child = spawn(metafuse, args, { stdio: ["ignore", "pipe", "pipe"] });
    let out = "", err = "";
    child.stdout.on("data", (part) => (out += part));
    child.stderr.on("data", (part) => (err += part));
    child.on("close", (status) => resolve({ status, out, err }));
  });
}

const database = await PGlite.create({ extensions: { vector } });
await database.exec("CREATE EXTENSION vector; CREATE TABLE pages(url text, title text, content text, embedding vector(3))");
for (const [name, text, meaning] of pages)
  await database.query("INSERT INTO pages VALUES ($1, $2, $3, $4)",
    [`https://pages.example/${name}`, name, text, JSON.stringify(meaning)]);
await database.exec("CREATE INDEX ON pages USING hnsw (embedding vector_cosine_ops)");
const version = (await database.query("SELECT extversion FROM pg_extension WHERE extname = 'vector'")).rows[0].extversion;
const socket = new PGLiteSocketServer({ db: database, host: "127.0.0.1", port: 0 });
await socket.start();
const port = Number(socket.getServerConn().split(":").at(-1));
const embeddings = await startEmbeddings();
const folder = mkdtempSync(join(tmpdir(), "metafuse-pgvector-"));
try {
  const connection = `postgresql://postgres@127.0.0.1:${port}/postgres?sslmode=disable`;
  const definitions = join(folder, "engines.yaml");
  writeFileSync(definitions,
    `embedding: {base_url: "http://127.0.0.1:${embeddings.address().port}", model: m}\nengines:\n` +
    `  - {name: near, engine: postgresql, connection: "${connection}", table: pages, search: vector}\n` +
    `  - {name: words, engine: postgresql, connection: "${connection}", table: pages, language: english}\n` +
    `  - name: both\n    engine: postgresql\n    connection: "${connection}"\n` +
    "    query_str: SELECT url, title, content, 1 - (embedding <=> CAST(:vector AS vector)) AS score FROM pages " +
    "WHERE content ILIKE :wildcard OR embedding <=> CAST(:vector AS vector) < 0.1 ORDER BY score DESC LIMIT :limit\n");
  const ask = async (engine, query, ...more) => {
    const done = await run(["engines", "try", engine, query, "--config", definitions, "--json", ...more]);
    assert.equal(done.status, 0, done.err);
    return JSON.parse(done.out).results;
  };
  const near = await ask("near", "hot drinks");
  assert.deepEqual(near.map((hit) => hit.title), ["tea", "coffee", "roses"]);
  // The cosine of (.9, .3, 0) and (1, .1, 0).
  assert.ok(Math.abs(near[0].score - 0.93 / (Math.hypot(0.9, 0.3) * Math.hypot(1, 0.1))) < 1e-6, String(near[0].score));
  assert.deepEqual((await ask("near", "garden", "--limit", "1")).map((hit) => hit.title), ["roses"]);
  assert.deepEqual((await ask("near", "hot drinks", "--limit", "1", "--page", "2")).map((hit) => hit.title), ["coffee"]);
  assert.deepEqual((await ask("words", "boiling water")).map((hit) => hit.title).sort(), ["coffee", "tea"]);
  assert.deepEqual((await ask("both", "garden")).map((hit) => hit.title), ["roses"]);
  const short = await run(["engines", "try", "near", "too short", "--config", definitions]);
  assert.notEqual(short.status, 0);
  assert.match(short.out + short.err, /different vector dimensions 3 and 2/);
  console.log(`pgvector ${version}: nearest first, page by page, beside full text; vectors of another size are a named failure`);
} finally {
  rmSync(folder, { recursive: true });
  embeddings.close();
  await socket.stop();
  await database.close();
}
