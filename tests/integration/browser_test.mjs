// The pages in Chromium: search, explanation, keyboard, editor, feedback, without JavaScript, and axe-core.
import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";
import { startServer } from "./server.mjs";

const pages = ["/", "/search?q=text+editor", "/search?q=text+editor+-emacs", "/search?q=nothing+of+this",
  "/search?q=text+editor&pageno=9", "/preferences", "/preferences?set=theme%3Ddark", "/templates", "/templates/software",
  "/evaluation", "/models", "/judge", "/judge/software", "/curation", "/curation/software", "/engines", "/docs", "/analytics",
  "/analytics/software", "/no-such-page"];
const server = await startServer();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const open = async (options = {}) => (await browser.newContext({ baseURL: server.address, ...options })).newPage();

/// axe-core needs scripts in the page.
async function findsNoViolation(page, { javaScriptEnabled }) {
  if (!javaScriptEnabled) return;
  const { violations } = await new AxeBuilder({ page }).analyze();
  assert.deepEqual(violations.map((item) => `${item.id}: ${item.nodes[0].html}`), []);
}

async function searchAndExplain() {
  const page = await open();
  const foreign = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(server.address)) foreign.push(request.url());
  });
  await page.goto("/");
  await page.getByLabel("Search for").fill("text editor");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/search\?/);
  assert.equal(await page.locator(".results > li").count(), 3);
  await page.locator("summary", { hasText: "Why here" }).first().click();
  await page.locator(".results td", { hasText: "phrase" }).first().waitFor();
  assert.deepEqual(foreign, []);
}

/// Conditions are chips that can be taken away, and filters are links.
async function conditions(options) {
  const page = await open(options);
  await page.goto("/search?q=text+editor+-emacs");
  assert.equal(await page.locator(".results > li").count(), 2);
  assert.equal(await page.locator("mark", { hasText: "text editor" }).count() > 0, true);
  await page.getByRole("link", { name: "-emacs" }).click();
  await page.waitForURL((url) => url.searchParams.get("q") === "text editor");
  assert.equal(await page.locator(".results > li").count(), 3);
  await page.locator("summary", { hasText: "Narrow" }).click();
  await page.getByRole("link", { name: "nano-editor.org" }).click();
  assert.equal(await page.locator(".results > li").count(), 1);
}

/// Completions by keys; Escape brings back what was typed.
async function completion() {
  const page = await open();
  await page.goto("/");
  const box = page.getByRole("combobox", { name: "Search for" });
  await box.pressSequentially("gn");
  await page.getByRole("option", { name: "GNU nano" }).waitFor();
  assert.equal(await box.getAttribute("aria-expanded"), "true");
  await page.keyboard.press("ArrowDown");
  assert.equal(await box.inputValue(), "GNU nano");
  assert.equal(await page.locator("#" + (await box.getAttribute("aria-activedescendant"))).textContent(), "GNU nano");
  await findsNoViolation(page, { javaScriptEnabled: true });
  await page.keyboard.press("Escape");
  assert.equal(await box.inputValue(), "gn");
  assert.equal(await page.getByRole("listbox").isVisible(), false);
  await box.pressSequentially("u");
  await page.getByRole("option", { name: "GNU Emacs" }).click();
  await page.waitForURL(/q=GNU\+Emacs/);
}

/// A typing error is corrected, and asked again by itself where nothing was found.
async function spelling(options) {
  const page = await open(options);
  await page.goto("/search?q=txet+editro");
  await page.getByRole("status").filter({ hasText: "Results for text editor" }).waitFor();
  assert.equal(await page.locator(".results > li").count(), 3);
  const { corrections } = await (await page.request.get("/search?q=txet+editor&format=json")).json();
  assert.deepEqual(corrections, ["text editor"]);
  await page.getByRole("link", { name: "search for txet editro" }).click();
  await page.waitForURL(/verbatim=1/);
}

async function preferences(options) {
  const page = await open(options);
  await page.goto("/preferences");
  await page.getByLabel("Colours").selectOption("dark");
  await page.getByLabel("Results per page").selectOption("10");
  await page.getByLabel("Open results in a new tab").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved in this browser.").waitFor();
  const link = await page.getByRole("link", { name: "This link" }).getAttribute("href");
  await page.goto("/search?q=text+editor");
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  assert.equal(await page.locator(".results h2 a").first().getAttribute("target"), "_blank");
  const other = await open(options);
  await other.goto(link);
  await other.getByText("Nothing changes until you save them").waitFor();
  await other.getByRole("button", { name: "Save" }).click();
  await other.goto("/");
  assert.equal(await other.locator("html").getAttribute("data-theme"), "dark");
}

async function keyboard() {
  const page = await open();
  await page.goto("/search?q=text+editor");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "GNU Emacs");
  await page.keyboard.press("k");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Vim the editor");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "q");
}

async function feedback() {
  const page = await open();
  await page.route(/vim\.org/, (route) => route.fulfill({ body: "" }));
  await page.goto("/search?q=text+editor");
  const sent = page.waitForResponse((response) => response.url().endsWith("/v1/feedback"));
  await page.locator(".results h2 a").first().click({ modifiers: ["Control"] }); // the page stays
  assert.equal((await sent).status(), 200);
}

async function sitePreferences(options) {
  const page = await open(options);
  await page.goto("/search?q=text+editor");
  const vim = page.locator(".results > li", { hasText: "vim.org" });
  await vim.locator("summary").click();
  await vim.getByRole("link", { name: "Raise, lower or block" }).click();
  await page.getByRole("button", { name: "Block" }).click();
  await page.getByText(": blocked").waitFor();
  assert.equal(await page.locator(".results > li").count(), 2);
  await page.getByRole("button", { name: "Forget www.vim.org" }).click();
  await page.getByText(": blocked").waitFor({ state: "detached" });
  assert.equal(await page.locator(".results > li").count(), 3);
}

/// Types the key where it is asked for: with scripts once in a tab.
async function sign(page, role, key) {
  const field = page.getByLabel(`Key with the role ${role}`);
  if (await field.isVisible()) await field.fill(key);
}

async function editor(options) {
  const page = await open(options);
  await page.goto("/templates/software");
  const text = page.locator("textarea");
  const original = await text.inputValue();
  await page.getByLabel("Base query").fill("text editor");
  await page.getByLabel("Base query").fill("text editor");
  await sign(page, "admin", "admin-key");
  await page.getByRole("button", { name: "Ask the engines" }).click();
  await page.getByText("phrase@local").first().waitFor();
  await page.getByRole("link", { name: "GNU Emacs" }).waitFor();
  await page.locator("td details summary").first().click(); // what the list holds
  await page.locator("td details a").first().waitFor();
  await findsNoViolation(page, options);
  await text.fill(original.replace("id: phrase", "wat: phrase"));
  await sign(page, "admin", "admin-key");
  await page.getByRole("button", { name: "Show the queries" }).click();
  await page.getByRole("alert").filter({ hasText: "wat" }).waitFor();
  await page.locator("[role=alert] pre", { hasText: "wat: phrase" }).first().waitFor();
  await findsNoViolation(page, options);
  if (options.javaScriptEnabled) {
    await page.locator("a[data-line]").first().click();
    const chosen = await page.locator("textarea").evaluate((box) => box.value.slice(box.selectionStart, box.selectionEnd));
    assert.match(chosen, /^ *- {wat: phrase.*}$/);
  }
  await page.locator("textarea").fill(original.replace("Home pages of software", "Home pages of programs"));
  await sign(page, "admin", "admin-key");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved and in use.").waitFor();
  await page.goto("/templates/software");
  await page.locator("textarea").fill(original);
  await sign(page, "admin", "admin-key");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved and in use.").waitFor();
}

async function models(options) {
  const page = await open(options);
  await page.goto("/models");
  await page.getByLabel("Key with the role admin").fill("wrong");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("alert").filter({ hasText: "unknown" }).waitFor();
  await sign(page, "admin", "admin-key");
  await page.getByRole("button", { name: "Train a challenger" }).click();
  await page.getByText("Previous champion", { exact: true }).waitFor();
  await findsNoViolation(page, options);
  await page.goto("/analytics/software"); // signed in for the tab
  await sign(page, "admin", "admin-key");
  if (!options.javaScriptEnabled) await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("table", { name: "Most asked" }).getByText("text editor", { exact: true }).waitFor();
  await findsNoViolation(page, options);
  if (options.javaScriptEnabled && process.env.SCREENSHOTS)
    await page.screenshot({ path: join(process.env.SCREENSHOTS, "analytics.png"), fullPage: true });
}

/// A query is judged by forms alone, or by keys and without typing the key again; nothing of it leaves the server.
async function judging(options) {
  const page = await open(options);
  const foreign = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(server.address)) foreign.push(request.url());
  });
  for (const query of ["lisp environment", "small editor", "text editor"]) await page.goto(`/search?q=${query}`);
  assert.equal(await page.getByRole("link", { name: "Judging", exact: true }).count(), 0); // only a link at the foot
  await page.goto("/judge/software");
  await page.getByLabel("Key with the role judge").fill("wrong");
  await page.getByRole("button", { name: "Show the queries" }).click();
  await page.getByRole("alert").filter({ hasText: "lacks the role judge" }).waitFor();
  await page.getByLabel("Key with the role judge").fill("judge-key");
  await page.getByRole("button", { name: "Show the queries" }).click();
  await page.getByRole("button", { name: "Judge text editor", exact: true }).waitFor();
  await findsNoViolation(page, options);
  if (options.javaScriptEnabled) {
    await page.getByRole("button", { name: "Judge", exact: true }).click();
    await page.locator(".judged > li").first().waitFor();
    await findsNoViolation(page, options);
    const heading = await page.locator("main h2").textContent();
    for (const grade of ["4", "0"]) {
      const sent = page.waitForResponse((response) => response.url().endsWith("/grades"));
      await page.keyboard.press(grade);
      assert.equal((await sent).status(), 200);
    }
    await page.keyboard.press("Enter");
    await page.waitForFunction((before) => document.querySelector("main h2")?.textContent !== before, heading);
    assert.match(await page.locator("main").textContent(), /1 of \d+ queries judged by you/);
    assert.doesNotMatch(await page.evaluate(() => document.cookie), /judge-key/);
    await page.goto("/judge/software"); // signed in for the tab
    await page.getByRole("button", { name: "Judge text editor", exact: true }).waitFor();
    assert.equal(await page.getByLabel("Key with the role judge").isVisible(), false);
    await page.getByText("Files").click();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download qrels" }).click();
    assert.equal((await download).suggestedFilename(), "software.qrels");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Key with the role judge").waitFor();
  } else {
    await page.getByLabel("Key with the role judge").fill("judge-key");
    await page.getByRole("button", { name: "Judge text editor", exact: true }).click();
    await page.locator(".judged > li").first().getByLabel("3 well").check();
    await page.getByLabel("Key with the role judge").fill("judge-key");
    await page.getByRole("button", { name: "Save, back to the queries" }).click();
    await page.getByText(/grades? saved/).waitFor();
  }
  assert.deepEqual(foreign, []);
}

/// Where searching needs a key, it is what a person types as the password.
async function typedKey() {
  const closed = await startServer("needs_key: true\n");
  try {
    const stranger = await open({ baseURL: closed.address });
    assert.equal((await stranger.request.get("/search?q=text+editor")).status(), 401);
    const page = await open({ baseURL: closed.address, httpCredentials: { username: "ann", password: "admin-key" } });
    await page.goto("/search?q=text+editor");
    assert.equal(await page.locator(".results > li").count(), 3);
    await page.route(/vim\.org/, (route) => route.fulfill({ body: "" }));
    const sent = page.waitForResponse((response) => response.url().endsWith("/v1/feedback"));
    await page.locator(".results h2 a").first().click({ modifiers: ["Control"] });
    assert.equal((await sent).status(), 200);
    await page.goto("/templates/software");
    await page.getByLabel("Base query").fill("text editor");
    await page.getByRole("button", { name: "Show the queries" }).click();
    await page.getByText("phrase@local").first().waitFor();
  } finally {
    await closed.stop();
  }
}

/// Beyond loopback and without TLS browsers send no Sec-Fetch-Site: the forms' Origin alone says that they are ours.
async function overPlainHttp() {
  const host = Object.values(networkInterfaces()).flat().find((one) => one.family === "IPv4" && !one.internal)?.address;
  if (!host) return console.log("no address beyond loopback: not tried over plain HTTP");
  const plain = await startServer("", host);
  try {
    for (const javaScriptEnabled of [true, false]) await sitePreferences({ javaScriptEnabled, baseURL: plain.address });
  } finally {
    await plain.stop();
  }
}

async function narrow() {
  for (const path of pages) {
    const page = await open({ viewport: { width: 360, height: 800 } });
    await page.goto(path);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 360, `${path} is ${width} wide on a screen of 360`);
    await page.context().close();
  }
  const page = await open({ viewport: { width: 360, height: 800 } });
  for (const path of ["/judge/software", "/curation/software", "/models", "/analytics/software"]) { // what a key opens
    await page.goto(path);
    const key = page.locator("input[name=key]").first();
    if (await key.isVisible()) await key.fill("admin-key");
    if (await key.isVisible()) await page.locator("[data-start]").first().click();
    await page.waitForFunction(() => [...document.querySelectorAll("p.key")].every((row) => row.hidden));
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 360, `${path} with a key is ${width} wide on a screen of 360`);
  }
}

async function accessibility(colorScheme) {
  for (const path of pages) {
    const page = await open({ colorScheme });
    await page.goto(path);
    for (const summary of await page.locator("summary").all()) await summary.click();
    const { violations } = await new AxeBuilder({ page }).analyze();
    const found = violations.map((item) => `${path} ${colorScheme}: ${item.id}: ${item.nodes[0].html}`);
    assert.deepEqual(found, []);
    if (process.env.SCREENSHOTS) {
      const name = `${path.replace(/\W+/g, "_")}-${colorScheme}.png`;
      await page.screenshot({ path: join(process.env.SCREENSHOTS, name), fullPage: true });
    }
    await page.context().close();
  }
}

try {
  await searchAndExplain();
  await keyboard();
  await completion();
  await feedback();
  for (const javaScriptEnabled of [true, false]) {
    await sitePreferences({ javaScriptEnabled });
    await conditions({ javaScriptEnabled });
    await spelling({ javaScriptEnabled });
    await preferences({ javaScriptEnabled });
    await editor({ javaScriptEnabled });
    await models({ javaScriptEnabled });
    await judging({ javaScriptEnabled });
  }
  await typedKey();
  await overPlainHttp();
  await narrow();
  await accessibility("light");
  await accessibility("dark");
  console.log("browser_test: passed");
} finally {
  await browser.close();
  await server.stop();
}
