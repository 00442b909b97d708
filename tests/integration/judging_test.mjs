// Twenty queries judged in Chromium by keys alone, as a judge with no mouse would: which keys that takes, and how long
// the judge waits for the server. Every grade that was pressed is in the judgments afterwards.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { startServer } from "./server.mjs";

const kQueries = 20;
const kResults = 10;
const topics = ["otter", "heron", "beaver", "kestrel", "badger", "newt", "marten", "stork", "lynx", "adder", "osprey",
  "weasel", "plover", "vole", "ibis", "hare", "swift", "trout", "moth", "toad"];
const places = ["river", "forest", "lake", "marsh", "meadow", "coast", "hill", "garden", "canal", "valley", "delta"];

/// The document says by its place how well it answers.
const gradeOf = (title) => places.findIndex((place) => title.endsWith(place)) % 5;
const documents = topics.flatMap((topic) =>
  places.map((place, i) => [`https://${topic}.example/${place}`, `The ${topic} of the ${place}`,
    `${topic} `.repeat(1 + (i % 3)) + `seen at the ${place}`]));

const server = await startServer("", "127.0.0.1", documents);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const judge = { Authorization: "Bearer judge-key" };

try {
  const lines = topics.map((topic, i) => JSON.stringify({ id: String(i), slots: { TOPIC: topic } })).join("\n");
  const queued = await fetch(`${server.address}/v1/judgments/software`, {
    method: "POST", headers: { ...judge, "Content-Type": "application/x-ndjson" }, body: lines });
  assert.equal(queued.status, 200);

  const page = await (await browser.newContext({ baseURL: server.address })).newPage();
  let keys = 0;
  let waits = 0;  // answers that the judge waits for before the next key
  let waited = 0; // milliseconds for them
  const press = async (key) => {
    keys += 1;
    await page.keyboard.press(key);
  };
  const waitFor = async (key, until) => {
    const began = performance.now();
    await press(key);
    await until();
    waits += 1;
    waited += performance.now() - began;
  };
  const reach = async (id) => {
    for (let i = 0; i < 40 && (await page.evaluate(() => document.activeElement.id)) !== id; ++i) await press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), id);
  };

  // no pointer from here on: the page has no mouse to click with
  page.mouse = undefined;
  await page.goto("/judge/software");
  await reach("key");
  for (const letter of "judge-key") await press(letter);
  await waitFor("Enter", () => page.locator("#text").waitFor());
  await reach("text");
  const heading = page.locator("main h2");
  await waitFor("Enter", () => page.locator(".judged > li").first().waitFor());
  const begun = keys;

  const expected = new Map();
  let saving = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/grades")) saving.push(request.response());
  });
  for (let i = 0; i < kQueries; ++i) {
    const query = await heading.textContent();
    const titles = await page.locator(".judged h3").allTextContents();
    assert.equal(titles.length, kResults);
    for (const title of titles) {
      const grade = gradeOf(title);
      expected.set(`${query} ${title}`, grade);
      await press(String(grade));
    }
    for (const answer of await Promise.all(saving)) assert.equal(answer.status(), 200);
    saving = [];
    await waitFor("Enter", () => page.waitForFunction((before) =>
      document.querySelector("main h2")?.textContent !== before, query));
  }
  assert.match(await page.locator("main").textContent(), /20 of 20 queries judged by you/);

  const text = await (await fetch(`${server.address}/v1/judgments/software?format=jsonl`, { headers: judge })).text();
  const stored = new Map();
  for (const line of text.trim().split("\n")) {
    const { slots, relevant, ...rest } = JSON.parse(line);
    for (const { url, grade } of relevant ?? []) {
      const [, topic, place] = url.match(/([a-z]+)\.example\/([a-z]+)/);
      stored.set(`${slots.TOPIC} The ${topic} of the ${place}`, grade);
    }
    assert.ok(rest);
  }
  assert.equal(expected.size, kQueries * kResults);
  for (const [what, grade] of expected) assert.equal(stored.get(what) ?? 0, grade, what);

  const seconds = waited / 1000;
  console.log(`${kQueries} queries of ${kResults} results: ${keys} keys, ${begun} of them to begin; ` +
    `${waits} answers waited for, ${seconds.toFixed(1)} s together; ` +
    `ten minutes leave ${((600 - seconds) / (kQueries * kResults)).toFixed(1)} s to read each result`);
  console.log("judging_test: passed");
} finally {
  await browser.close();
  await server.stop();
}
