// A client of a metafuse server for Node.js 18 and later and for browsers. It searches, streams, fuses the caller's own
// lists and sends feedback. It has no dependencies. The types in metafuse-client.d.ts are made from /openapi.json.

/** The reason why the server refused a request or could not be reached. */
export class MetafuseError extends Error {
  /**
   * @param {string} message what is wrong and what to do, as the server says it
   * @param {number} status of the HTTP answer; 0 when there was none
   * @param {number | undefined} retryAfter seconds to wait, where the server names them
   */
  constructor(message, status, retryAfter) {
    super(message);
    this.name = "MetafuseError";
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** A text from the server as JSON. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new MetafuseError("the answer is not JSON; is this a metafuse server?", 0);
  }
}

/** What one request waits for: the caller may give it up by `signal`, and no wait is longer than `timeout` ms. */
class Patience {
  #control = new AbortController();
  #outer;
  #timeout;
  #giveUp = () => this.#control.abort(this.#outer.reason);

  constructor(timeout, outer) {
    this.#timeout = timeout;
    this.#outer = outer;
    if (outer?.aborted) this.#giveUp();
    outer?.addEventListener("abort", this.#giveUp, { once: true });
  }

  get signal() {
    return this.#control.signal;
  }

  /** The outcome of a step. What goes wrong in it becomes an error of ours, unless the caller gave the request up. */
  async wait(step, what) {
    const late = () => this.#control.abort(new MetafuseError(`${what}: nothing came for ${this.#timeout} ms`, 0));
    const isLimited = this.#timeout > 0 && this.#timeout < 2 ** 31;
    const timer = isLimited ? setTimeout(late, this.#timeout) : undefined;
    try {
      return await step();
    } catch (error) {
      if (this.signal.aborted) throw this.signal.reason;
      if (error instanceof MetafuseError) throw error;
      throw new MetafuseError(`${what}: ${error?.cause?.message ?? error?.message ?? error}`, 0);
    } finally {
      clearTimeout(timer);
    }
  }

  end() {
    this.#outer?.removeEventListener("abort", this.#giveUp);
  }
}

async function failure(response, patience) {
  let text = `${response.status} ${response.statusText}`;
  try {
    const body = parsed(await patience.wait(() => response.text(), "the answer broke off"));
    text = body.detail?.error ?? body.detail ?? body.error?.message ?? body.error ?? text;
  } catch {
    // not JSON: the status is enough
  }
  const seconds = Number(response.headers.get("Retry-After"));
  return new MetafuseError(String(text), response.status, seconds > 0 ? seconds : undefined);
}

/** The events of a text/event-stream: {event, data} with parsed JSON. */
async function* eventsOf(body, patience) {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  try {
    while (true) {
      const { value, done } = await patience.wait(() => reader.read(), "the connection was lost");
      text += done ? decoder.decode() : decoder.decode(value, { stream: true });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const lines = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        const field = (name) => lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2)).join("\n");
        const data = field("data");
        if (data) yield { event: field("event"), data: parsed(data) };
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** JSON lines in parts that a server takes with its default limit of a request's size. */
function* partsOf(documents) {
  const most = 500_000; // bytes of UTF-8
  const encoder = new TextEncoder();
  let part = "";
  let size = 0;
  for (const document of documents) {
    const line = `${JSON.stringify(document)}\n`;
    const bytes = encoder.encode(line).length;
    if (part && size + bytes > most) {
      yield part;
      part = "";
      size = 0;
    }
    part += line;
    size += bytes;
  }
  if (part) yield part;
}

const documentsOf = (domain) => `/v1/documents/${encodeURIComponent(domain)}`;
const asRequest = (query) => (typeof query === "string" ? { query } : query);

/** Members of POST /v1/search that the parameters of GET /v1/search/stream call otherwise, and all that it has. */
const streamNames = { query: "q", page: "pageno", safe_search: "safesearch" };
const streamHas = new Set(
  ("q domain pageno limit explain verbatim all_lists lists min_relevance fusion language time_range safesearch engines " +
    "categories timeout_limit").split(" "),
);

function streamParameters({ slots, deadline_ms: deadline, ...members }) {
  const parameters = new URLSearchParams();
  const given = (object) => Object.entries(object).filter(([, value]) => value !== undefined && value !== null);
  for (const [name, value] of given(slots ?? {})) parameters.set(`slot.${name}`, value);
  if (deadline) parameters.set("timeout_limit", String(deadline / 1_000));
  for (const [member, value] of given(members)) {
    const name = streamNames[member] ?? member;
    if (!streamHas.has(name)) throw new TypeError(`a stream has no parameter ${name}; it has ${[...streamHas].join(", ")}`);
    parameters.set(name, value);
  }
  return parameters;
}

/** A key as it can be sent. The message must not show it. */
function checkedKey(key) {
  const trimmed = String(key ?? "").trim();
  if (/[^\x20-\x7e]/.test(trimmed)) throw new TypeError("the key has characters other than printable ASCII; give the key alone");
  return trimmed;
}

export class Metafuse {
  #url;
  #key;
  #fetch;
  #timeout;

  /** @param {import("./metafuse-client").MetafuseOptions} [options] */
  constructor({ url, key, fetch: ask, timeout = 30_000 } = {}) {
    const here = globalThis.location?.origin;
    if (!url && !here) throw new TypeError("Metafuse needs the server's url, such as http://127.0.0.1:8080");
    this.#url = String(url ?? here).replace(/\/+$/, "");
    this.#key = checkedKey(key);
    this.#fetch = ask ?? ((...call) => globalThis.fetch(...call));
    this.#timeout = timeout;
  }

  async #ask(path, patience, init = {}) {
    const headers = { ...init.headers };
    if (this.#key) headers.Authorization = `Bearer ${this.#key}`;
    const asked = () => this.#fetch(this.#url + path, { ...init, headers, signal: patience.signal });
    const response = await patience.wait(asked, `${this.#url} does not answer`);
    if (!response.ok) throw await failure(response, patience);
    return response;
  }

  /** @param {number} asked the time in ms that the server is given, to which comes that of the way */
  #patience(signal, asked = 0) {
    return new Patience(this.#timeout > 0 && asked > 0 ? Math.max(this.#timeout, asked + 5_000) : this.#timeout, signal);
  }

  async #send(method, path, body, { signal, keepalive, asked } = {}, type = "application/json") {
    const patience = this.#patience(signal, asked);
    try {
      const response = await this.#ask(path, patience, { method, headers: { "Content-Type": type }, body, keepalive });
      return parsed(await patience.wait(() => response.text(), `the answer of ${this.#url} broke off`));
    } finally {
      patience.end();
    }
  }

  #post(path, body, options) {
    return this.#send("POST", path, JSON.stringify(body), options);
  }

  /**
   * Searches for a plain query or with a request of POST /v1/search; members of a request may also stand among the
   * options, as in search("otters", { domain: "animals" }).
   */
  search(query, { signal, keepalive, ...members } = {}) {
    const request = { ...asRequest(query), ...members };
    return this.#post("/v1/search", request, { signal, keepalive, asked: request.deadline_ms });
  }

  /**
   * Searches and yields a new answer as each list arrives: {event: "partial", ...answer, arrived, wanted}, and at
   * last {event: "final", ...answer}. Throws a MetafuseError where the stream ends otherwise. The query has the
   * parameters of GET /v1/search/stream; they may also stand among the options. `query`, `page`, `safe_search` and
   * `deadline_ms` may have the names that they have in a request to search. Throws a TypeError for other names.
   */
  async *stream(query, { signal, ...members } = {}) {
    const parameters = streamParameters({ ...asRequest(query), ...members });
    const patience = this.#patience(signal, 1_000 * Number(parameters.get("timeout_limit")));
    try {
      const response = await this.#ask(`/v1/search/stream?${parameters}`, patience);
      for await (const { event, data } of eventsOf(response.body, patience)) {
        if (event === "error") throw new MetafuseError(data.detail, 503);
        yield { event, ...data };
        if (event === "final") return;
      }
      throw new MetafuseError("the stream ended before its last answer", 0);
    } finally {
      patience.end();
    }
  }

  /**
   * Fuses the caller's own lists, given as an array of lists or as a request of POST /v1/fuse, whose other members may
   * also stand among the options.
   */
  fuse(request, { signal, keepalive, ...members } = {}) {
    const given = Array.isArray(request) ? { lists: request } : request;
    return this.#post("/v1/fuse", { ...given, ...members }, { signal, keepalive });
  }

  /** Fuses many requests at once. Returns the answers in order, with {status, detail} for a refused request. */
  async fuseAll(requests, options) {
    return (await this.#post("/v1/fuse", { requests }, options)).answers;
  }

  /** Orders documents by a request of POST /v1/rerank: {query, documents, top_n, model}, in part among the options. */
  rerank(request, { signal, keepalive, ...members } = {}) {
    return this.#post("/v1/rerank", { ...request, ...members }, { signal, keepalive });
  }

  /**
   * Adds documents ({url, title, text, ...}) to a domain's embedded index, or replaces those of the same address.
   * When the promise resolves they are on the server's disk; searches find them within seconds. Many documents are
   * sent in parts.
   */
  async addDocuments(domain, documents, { signal } = {}) {
    let stored = 0;
    for (const lines of partsOf(documents)) {
      stored += (await this.#send("POST", documentsOf(domain), lines, { signal }, "application/x-ndjson")).stored;
    }
    return stored;
  }

  /** Removes documents from a domain's embedded index by their addresses. */
  async removeDocuments(domain, urls, { signal } = {}) {
    return (await this.#send("DELETE", documentsOf(domain), JSON.stringify({ urls }), { signal })).removed;
  }

  /** Reports a click or a judgment on a result of the search with this id. */
  feedback(feedback, options) {
    return this.#post("/v1/feedback", feedback, options);
  }

  /** Reports a click on {position}, {url} or {id}. The request continues after the click has left the page. */
  click(searchId, result) {
    return this.feedback({ search_id: searchId, kind: "click", ...result }, { keepalive: true });
  }
}
