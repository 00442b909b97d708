// The pages' scripts in Chromium where the server refuses, fails or answers late: nothing typed is lost, nothing is done
// twice, and a page that began with the first lists is completed in place.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { startServer } from "./server.mjs";

const server = await startServer();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const open = async () => (await browser.newContext({ baseURL: server.address, viewport: { width: 1000, height: 700 } })).newPage();
const html = (status, body) => ({ status, contentType: "text/html; charset=utf-8", body });
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/// An answer to a form that is no page with this form leaves what was typed, and is sent once.
async function refusals() {
  const answers = [
    [(route) => route.fulfill(html(429, '<main id="main"><p role="alert">too many requests</p></main>')), "Not done: too many requests"],
    [(route) => route.fulfill(html(502, "<h1>Bad Gateway</h1>")), "answered with status 502"],
    [(route) => route.abort(), "did not answer"],
  ];
  for (const [answer, said] of answers) {
    const page = await open();
    let posts = 0;
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route("**/templates/software", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      posts += 1;
      await held;
      return answer(route);
    });
    await page.goto("/templates/software");
    await page.locator("textarea").fill("typed: here");
    await page.getByLabel("Key with the role admin").fill("admin-key");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Save" }).click(); // a second press while the first is being answered
    release();
    await page.getByRole("alert").filter({ hasText: said }).waitFor();
    assert.equal(await page.locator("textarea").inputValue(), "typed: here");
    await settled(page);
    assert.equal(posts, 1);
    await page.unroute("**/templates/software"); // the same form still works
    await page.getByRole("button", { name: "Show the queries" }).click();
    await page.getByRole("alert").filter({ hasText: "mistakes" }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 1);
    assert.equal(await page.locator("textarea").inputValue(), "typed: here");
  }
}

/// A key that is refused later is asked for again beside what was typed.
async function refusedKey() {
  const page = await open();
  await page.goto("/curation/software");
  const key = page.getByLabel("Key with the role admin");
  await key.fill("admin-key");
  await page.getByRole("button", { name: "Show" }).click();
  await page.locator("textarea").fill("car, automobile");
  assert.equal(await key.isVisible(), false);
  await page.evaluate(() => (document.getElementById("key").value = "revoked"));
  await page.getByRole("button", { name: "Save the synonyms" }).click();
  await page.getByRole("alert").filter({ hasText: "Not done" }).waitFor();
  assert.equal(await page.locator("textarea").inputValue(), "car, automobile");
  await key.fill("admin-key");
  await page.getByRole("button", { name: "Save the synonyms" }).click();
  await page.getByText("The synonyms are saved.").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
}

/// A key grades only the result that the judge is at, and a grade that is not stored says so.
async function judging() {
  const page = await open();
  await page.goto("/search?q=text+editor");
  await page.goto("/judge/software");
  await page.getByLabel("Key with the role judge").fill("judge-key");
  await page.getByRole("button", { name: "Show the queries" }).click();
  await page.getByRole("button", { name: "Judge text editor", exact: true }).click();
  const items = page.locator(".judged > li");
  await items.first().waitFor();
  let sent = 0;
  await page.route("**/grades", (route) => (++sent, route.fulfill({ status: 503, body: "{}" })));
  for (const key of ["3", "j"]) {
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press(key);
    assert.equal(await items.first().evaluate((item) => item === document.activeElement), true);
  }
  assert.equal(await page.locator(".judged input:checked").count(), 0);
  assert.equal(sent, 0);
  await page.keyboard.press("3");
  await items.first().getByRole("status").filter({ hasText: "Not saved yet" }).waitFor();
  await page.unroute("**/grades");
  await page.keyboard.press("k");
  await page.keyboard.press("2");
  await page.getByText("Not saved yet").waitFor({ state: "detached" });
  assert.equal(await items.first().evaluate((item) => item.classList.contains("unsaved")), false);
}

/// Escape closes the completions also for an answer that is still to come; only the left button chooses one.
async function completions() {
  const page = await open();
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/autocompleter?q=gnu*", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto("/");
  const box = page.getByRole("combobox", { name: "Search for" });
  await box.pressSequentially("gn");
  const nano = page.getByRole("option", { name: "GNU nano" });
  await nano.click({ button: "right" });
  await settled(page);
  assert.equal(await box.inputValue(), "gn");
  const asked = page.waitForRequest(/autocompleter\?q=gnu/);
  await box.pressSequentially("u");
  await asked;
  await page.keyboard.press("Escape");
  const answered = page.waitForResponse(/autocompleter\?q=gnu/);
  release();
  await (await answered).finished();
  await settled(page);
  assert.equal(await page.getByRole("listbox").isVisible(), false);
}

const item = (name) => `<li style="height:500px"><h2><a href="https://${name}.example/">${name}</a></h2></li>`;
const content = (summary, names) => `<div class="summary">${summary}</div><ol class="results" data-search="s1">${names.map(item).join("")}</ol>`;
const begun = content('<span role="status" data-lost="The rest is lost.">More is coming.</span>', ["a", "b", "c", "d"]);
const early = (end) => `<!doctype html><title>t</title><script src="/static/metafuse.js" defer></script>
  <form><input id="q" name="q"></form><main id="main" tabindex="-1">${begun}</main>${end}`;

/// The results in view stay where they are, the others come below them, and all are reported by their place in the whole.
async function completedPages() {
  const page = await open();
  await page.context().route(/\.example\//, (route) => route.fulfill(html(200, "<p>elsewhere</p>")));
  await page.addInitScript(() => {
    window.sent = [];
    navigator.sendBeacon = (_, body) => body.text().then((text) => window.sent.push(JSON.parse(text)));
  });
  let end = `<template id="whole">${content("<span>5 results</span>", ["c", "x", "b", "a", "d"])}</template>`;
  await page.route("**/search?q=early", (route) => route.fulfill(html(200, early(end))));
  await page.goto("/search?q=early");
  const shown = await page.locator(".results > li").evaluateAll((all) => all.map((one) => one.textContent + one.dataset.position));
  assert.deepEqual(shown, ["a4", "b3", "c1", "x2", "d5"]);
  assert.equal(await page.locator(".summary").textContent(), "5 results");
  await page.getByRole("link", { name: "x", exact: true }).click({ button: "middle" }); // opens a tab
  await page.getByRole("link", { name: "a", exact: true }).click({ button: "right" });
  await page.getByRole("link", { name: "a", exact: true }).click({ modifiers: ["Control"] });
  await page.waitForFunction(() => window.sent.length >= 2);
  assert.deepEqual(await page.evaluate(() => window.sent.map(({ position }) => position)), [2, 4]);

  end = ""; // the server failed, or the connection was lost
  await page.goto("/search?q=early");
  await page.getByRole("status").filter({ hasText: "The rest is lost." }).waitFor();
  assert.equal(await page.locator(".results > li").count(), 4);
}

try {
  await refusals();
  await refusedKey();
  await judging();
  await completions();
  await completedPages();
  console.log("page_scripts_test: passed");
} finally {
  await browser.close();
  await server.stop();
}
