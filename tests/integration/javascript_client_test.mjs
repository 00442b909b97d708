// clients/javascript in Node.js and in Chromium, against a real server: its calls, its types, and clicks from another
// origin's page.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { startServer } from "./server.mjs";

const source = join(process.env.METAFUSE_SOURCE, "clients/javascript");
cpSync(source, "node_modules/metafuse-client", { recursive: true });
const { Metafuse, MetafuseError } = await import("metafuse-client");

// a site of somebody else's, whose pages show results
let page = "";
const site = createServer((_, response) => response.writeHead(200, { "Content-Type": "text/html" }).end(page));
await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${site.address().port}`;
const server = await startServer(`cors_origins: ["${origin}"]\n`);
const admin = new Metafuse({ url: server.address, key: "admin-key" });

async function inNode() {
  const metafuse = new Metafuse({ url: `${server.address}/` });
  const found = await metafuse.search("text editor");
  assert.equal(found.results.length, 3);
  await assert.rejects(metafuse.search("text editor", { domain: "nope" }), { name: "MetafuseError", status: 400 });
  const limited = await metafuse.search({ slots: { TOPIC: "nano" }, limit: 1 });
  assert.equal(limited.results[0].url, "https://nano-editor.org/");

  const events = [];
  for await (const event of metafuse.stream({ query: "text editor", limit: 2 })) events.push(event);
  assert.equal(events.at(-1).event, "final");
  assert.equal(events.at(-1).results.length, 2);
  assert.ok(events.slice(0, -1).every((event) => event.event === "partial" && event.arrived <= event.wanted));
  for await (const event of metafuse.stream("nano")) if (event) break; // leaving early is no error
  await assert.rejects(metafuse.stream("nano", { domain: "nope" }).next(), { name: "MetafuseError", status: 400 });

  const lists = [{ name: "bm25", results: ["d1", "d2"] }, { name: "dense", results: [{ id: "d2", score: 0.8 }] }];
  assert.deepEqual((await metafuse.fuse(lists)).results.map((item) => item.id), ["d2", "d1"]);
  assert.equal((await metafuse.fuse(lists, { limit: 1 })).results.length, 1);
  const many = await metafuse.fuseAll([{ lists }, { lists: [] }]);
  assert.equal(many[0].total, 2);
  assert.equal(many[1].status, 400);

  assert.equal((await metafuse.click(found.search_id, { position: 1 })).outcome, "recorded");
  const again = await metafuse.feedback({ search_id: found.search_id, url: found.results[0].url });
  assert.equal(again.outcome, "duplicate");

  await assert.rejects(metafuse.search({ query: "x", wat: 1 }), (error) =>
    error instanceof MetafuseError && error.status === 400 && /wat/.test(error.message));
  await assert.rejects(new Metafuse({ url: "http://127.0.0.1:1" }).search("x"), { name: "MetafuseError", status: 0 });
  await assert.rejects(metafuse.search("x", { signal: AbortSignal.abort() }), { name: "AbortError" });
  assert.throws(() => new Metafuse(), /server's url/);
  const keyed = new Metafuse({ url: server.address, key: "admin-key\n" }); // as it is read from a file
  assert.equal((await keyed.search("nano")).results.length, 1);
  assert.throws(() => new Metafuse({ url: "http://a", key: "secret\r\nX: y" }), (error) => !/secret/.test(error.message));

  const large = "x".repeat(24 << 20);
  await assert.rejects(metafuse.rerank({ query: "x", documents: [large] }), { name: "MetafuseError", status: 413 });
}

/** Members of a search, in the parameters of a stream. */
async function streamParameters() {
  let asked;
  const fetch = async (url) => {
    asked = new URL(url).searchParams;
    return new Response("event: final\ndata: {}\n\n");
  };
  const members = { domain: null, limit: null, depth: undefined, sites: null, page: 2, safe_search: 1, explain: false, lists: ["a", "b"], slots: { A: "b", C: null } };
  for await (const event of new Metafuse({ url: "http://a", fetch }).stream({ query: "x y", ...members })) assert.equal(event.event, "final");
  assert.equal(String(asked), "slot.A=b&q=x+y&pageno=2&safesearch=1&explain=false&lists=a%2Cb");
  for await (const event of new Metafuse({ url: "http://a", fetch }).stream("x", { deadline_ms: 250 })) assert.ok(event);
  assert.equal(String(asked), "timeout_limit=0.25&q=x");
  await assert.rejects(new Metafuse({ url: "http://a", fetch }).stream("x", { depth: 3 }).next(), {
    name: "TypeError",
    message: /no parameter depth; it has q, domain/,
  });
}

/** A server whose answers are not those of metafuse: one that never comes, one that breaks off, and a page. */
async function strangeAnswers() {
  const strange = createServer((request, response) => {
    if (request.url === "/v1/fuse") return;
    response.writeHead(200, { "Content-Type": "text/html", ...(request.url === "/v1/rerank" && { "Content-Length": 100 }) });
    response.write("<title>Log in</title>", () => (request.url === "/v1/rerank" ? response.destroy() : response.end()));
  });
  await new Promise((resolve) => strange.listen(0, "127.0.0.1", resolve));
  const metafuse = new Metafuse({ url: `http://127.0.0.1:${strange.address().port}`, timeout: 200 });
  const ours = { name: "MetafuseError", status: 0 };
  await assert.rejects(metafuse.fuse([]), { ...ours, message: /nothing came for 200 ms/ });
  await assert.rejects(metafuse.fuse([], { signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
  await assert.rejects(metafuse.rerank({ query: "x", documents: [] }), { ...ours, message: /broke off/ });
  const notJson = { ...ours, message: /is not JSON/ };
  await assert.rejects(metafuse.search("x"), notJson);
  await assert.rejects(metafuse.addDocuments("d", [{ url: "http://a/" }]), notJson);
  await assert.rejects(metafuse.removeDocuments("d", ["http://a/"]), notJson);
  await assert.rejects(metafuse.stream("x").next(), ours);
  strange.closeAllConnections();
  strange.close();
}

/** What a stream does that has these pieces and then ends, or breaks. */
async function readOf(pieces, breaks) {
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      if (!breaks) controller.close();
    },
    pull: (controller) => controller.error(new TypeError("terminated")),
  });
  const events = [];
  try {
    for await (const { event } of new Metafuse({ url: "http://a", fetch: async () => new Response(body) }).stream("x")) events.push(event);
  } catch (error) {
    assert.ok(error instanceof MetafuseError, String(error));
    events.push(error.message);
  }
  return events;
}

async function failingStreams() {
  const piece = (event, data) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  const partial = piece("partial", {});
  assert.deepEqual(await readOf([partial, piece("final", {})]), ["partial", "final"]);
  assert.deepEqual(await readOf([partial, piece("error", { detail: "too late" })]), ["partial", "too late"]);
  assert.deepEqual(await readOf([partial]), ["partial", "the stream ended before its last answer"]);
  assert.deepEqual(await readOf([partial], true), ["partial", "the connection was lost: terminated"]);
}

async function documentsInParts() {
  const sizes = [];
  const take = async (_, { body }) => {
    sizes.push(Buffer.byteLength(body));
    return Response.json({ stored: body.trim().split("\n").length });
  };
  const documents = Array.from({ length: 40 }, (_, i) => ({ url: `http://${i}/`, text: "編集".repeat(5000) }));
  assert.equal(await new Metafuse({ url: "http://a", fetch: take }).addDocuments("d", documents), 40);
  assert.ok(sizes.length > 1 && Math.max(...sizes) <= 500_000, String(sizes));
}

function types() {
  const made = join(process.cwd(), "api.d.ts");
  const generator = "node node_modules/.bin/openapi-typescript";
  const script = join(process.env.METAFUSE_SOURCE, "scripts/client-types");
  const options = { env: { ...process.env, OPENAPI_TYPESCRIPT: generator }, stdio: "pipe" };
  execFileSync(script, [`${server.address}/openapi.json`, made], options);
  const kept = readFileSync(join(source, "api.d.ts"), "utf8");
  assert.equal(kept, readFileSync(made, "utf8"), "clients/javascript/api.d.ts is not what scripts/client-types makes; run it");
  mkdirSync("typed", { recursive: true });
  writeFileSync("typed/sample.ts", `
    import { Metafuse, MetafuseError, type SearchResponse } from "metafuse-client";
    const metafuse = new Metafuse({ url: "http://127.0.0.1:8080" });
    const found: SearchResponse = await metafuse.search({ query: "x", limit: 3, sites: { block: ["a.example"] } });
    const urls: string[] = found.results.map((result) => result.url);
    for await (const event of metafuse.stream({ query: "x", pageno: 2 })) if (event.event === "partial") event.arrived.toFixed();
    const fused = await metafuse.fuse([{ name: "a", results: ["d1", { id: "d2", score: 1 }] }]);
    const score: number = fused.results[0].score;
    await metafuse.click(found.search_id ?? "", { id: fused.results[0].id });
    await metafuse.fuse([], { domain: "d", limit: 1 });
    for await (const event of metafuse.stream("x", { fusion: "rrf", page: 2, domain: null })) event.results;
    const ordered = await metafuse.rerank({ query: "x", documents: ["a", { text: "b" }], return_documents: true });
    const text: unknown = ordered.results[0].document?.text;
    await metafuse.addDocuments("d", [{ url: "http://a/", tags: ["a"], ok: true, pages: 3 }]);
    // @ts-expect-error: no such member
    await metafuse.search({ query: "x", wat: 1 });
    // @ts-expect-error: no such member among the options either
    await metafuse.fuse([], { domian: "d" });
    // @ts-expect-error: limit is a number
    await metafuse.search({ query: "x", limit: "3" });
    export { urls, score, text, MetafuseError };
  `);
  const compilerOptions = { noEmit: true, strict: true, target: "es2022", module: "nodenext", types: [] };
  writeFileSync("typed/tsconfig.json", JSON.stringify({ compilerOptions, files: ["sample.ts"] }));
  writeFileSync("typed/package.json", '{"type":"module"}');
  execFileSync("node", ["node_modules/.bin/tsc", "-p", "typed"], { stdio: "inherit" });
}

async function inChromium() {
  assert.ok(statSync(join(source, "metafuse-clicks.js")).size < 2000);
  const executablePath = execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    page = `<!doctype html><title>results</title>
      <script src="${server.address}/static/metafuse-clicks.js" defer></script>
      <script type="module">
        import { Metafuse } from "${server.address}/static/metafuse-client.js";
        const metafuse = new Metafuse({ url: "${server.address}" });
        const streamed = [];
        for await (const answer of metafuse.stream({ query: "text editor" })) streamed.push(answer.event);
        const found = await metafuse.search("text editor");
        document.body.innerHTML = '<ol></ol><p><a id="outside" href="#outside">outside</a></p>';
        const list = document.querySelector("ol");
        list.dataset.searchId = found.search_id;
        found.results.forEach((result, at) => {
          const item = document.createElement("li");
          if (at === 0) item.dataset.position = 1;
          if (at === 1) item.dataset.url = result.url;
          item.innerHTML = '<a href="#"><b>link</b></a>';
          item.firstChild.href = at === 2 ? result.url : "#" + at;
          item.firstChild.target = at === 2 ? "_blank" : "";
          list.append(item);
        });
        document.title = streamed.at(-1);
      </script><body></body>`;
    const tab = await browser.newPage();
    const problems = [];
    tab.on("pageerror", (error) => problems.push(String(error)));
    await tab.goto(origin);
    await tab.waitForFunction(() => document.title === "final");
    const clicked = async (act) => {
      const [answer] = await Promise.all([tab.waitForResponse((item) => item.url().endsWith("/v1/feedback") && item.request().method() === "POST"), act()]);
      return answer.status();
    };
    assert.equal(await clicked(() => tab.click("li:nth-child(1) b")), 200);
    assert.equal(await clicked(() => tab.click("li:nth-child(2) a")), 200);
    assert.equal(await clicked(() => tab.click("li:nth-child(3) a", { button: "middle" })), 200);
    await tab.click("#outside"); // no result
    await tab.click("li:nth-child(1) b"); // reported already
    assert.deepEqual(problems, []);

    // on the server's own origin the report is a beacon
    await tab.goto(`${server.address}/docs`);
    const id = await tab.evaluate(async () => {
      const { Metafuse } = await import("/static/metafuse-client.js");
      return (await new Metafuse().search("nano")).search_id;
    });
    await tab.addScriptTag({ url: "/static/metafuse-clicks.js" });
    await tab.evaluate((searchId) => {
      document.body.innerHTML = `<div data-search-id="${searchId}"><a data-position="1" href="#x">x</a></div>`;
    }, id);
    const beacons = [];
    tab.on("request", (request) => beacons.push([request.resourceType(), request.url()]));
    assert.equal(await clicked(() => tab.click("a[data-position]")), 200);
    assert.ok(beacons.some(([type, url]) => type === "ping" && url.endsWith("/v1/feedback")));
  } finally {
    await browser.close();
  }
  const clicks = (await (await fetch(`${server.address}/metrics`)).text()).match(/metafuse_http_requests_total\{route="v1_feedback",status="200"\} (\d+)/);
  assert.equal(Number(clicks[1]), 2 + 3 + 1); // what Node.js reported, three from the other origin, the beacon
}

try {
  await inNode();
  await failingStreams();
  await streamParameters();
  await strangeAnswers();
  await documentsInParts();
  types();
  await inChromium();
  assert.equal((await admin.search("nano")).total, 1);
  console.log("javascript_client_test: passed");
} finally {
  site.close();
  site.closeAllConnections();
  await server.stop();
}
