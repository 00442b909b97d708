// A `metafuse serve` over the embedded engine in a folder of its own, for the tests beside this file.
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const editors = [
  ["https://www.vim.org/", "Vim the editor", "highly configurable text editor built for efficient editing"],
  ["https://www.gnu.org/software/emacs/", "GNU Emacs", "extensible, customizable text editor and lisp environment"],
  ["https://nano-editor.org/", "GNU nano", "small friendly text editor inspired by pico"],
];

const templates = `version: 1
domain: software
description: Home pages of software
depth: 30
slots:
  TOPIC: {required: true, description: what it does}
  KIND: {}
templates:
  - {id: all, engine: local, query: '{TOPIC|all}'}
  - {id: any, engine: local, query: '{TOPIC|any} [{KIND}]'}
  - {id: phrase, engine: local, query: '{TOPIC|phrase}'}
`;

/// in: more - further lines of the server's configuration; host - the address to listen on; documents - [url, title,
///     text] of each; domains - the texts of further template files, by name
export async function startServer(more = "", host = "127.0.0.1", documents = editors, domains = {}) {
  const metafuse = process.env.METAFUSE ?? "build/release/metafuse";
  const folder = mkdtempSync(join(tmpdir(), "metafuse-integration-"));
  const digest = (key) => createHash("sha256").update(key).digest("hex");
  mkdirSync(join(folder, "templates"));
  mkdirSync(join(folder, "models"));
  writeFileSync(join(folder, "templates/software.yaml"), templates);
  for (const [name, text] of Object.entries(domains)) writeFileSync(join(folder, "templates", `${name}.yaml`), text);
  writeFileSync(join(folder, "engines.yaml"), "engines:\n  - {name: local, engine: local, database: local.db}\n");
  writeFileSync(
    join(folder, "metafuse.yaml"),
    `version: 1\nlisten: ${host}:0\n` +
      "templates: [templates/*.yaml]\nengines: [engines.yaml]\nstore: state.db\nmodels: models\n" +
      `keys: [{name: admin, sha256: ${digest("admin-key")}, roles: [admin]}, ` +
      `{name: ann, sha256: ${digest("judge-key")}, roles: [judge]}]\n${more}`,
  );
  const lines = documents.map(([url, title, text]) => JSON.stringify({ url, title, text })).join("\n");
  writeFileSync(join(folder, "documents.jsonl"), lines + "\n");
  execFileSync(metafuse, ["index", "--database", join(folder, "local.db"), join(folder, "documents.jsonl")]);
  const child = spawn(metafuse, ["serve", "--config", join(folder, "metafuse.yaml")], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const address = await new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`serve ended with ${code}`)));
    child.stdout.once("data", (data) => resolve(data.toString().trim()));
  });
  const stop = () =>
    new Promise((resolve) => {
      child.removeAllListeners("exit");
      child.once("exit", () => {
        rmSync(folder, { recursive: true });
        resolve();
      });
      child.kill("SIGTERM");
    });
  return { address, stop, metafuse, config: join(folder, "metafuse.yaml") };
}
