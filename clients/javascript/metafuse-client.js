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

async function failure(response) {
  let text = `${response.status} ${response.statusText}`;
  try {
    const body = await response.json();
    text = body.detail?.error ?? body.detail ?? body.error?.message ?? body.error ?? text;
  } catch {
    // not JSON: the status is enough
  }
  const seconds = Number(response.headers.get("Retry-After"));
  return new MetafuseError(String(text), response.status, seconds > 0 ? seconds : undefined);
}

const isAborted = (error) => error?.name === "AbortError" || error?.name === "TimeoutError";

/** What went wrong between this program and the server, as an error of ours, unless the caller gave the request up. */
function disconnected(what, error) {
  return isAborted(error) ? error : new MetafuseError(`${what}: ${error?.cause?.message ?? error?.message ?? error}`, 0);
}

/** The events of a text/event-stream: {event, data} with parsed JSON. */
async function* eventsOf(body) {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  try {
    while (true) {
      const { value, done } = await reader.read().catch((error) => {
        throw disconnected("the connection was lost", error);
      });
      text += done ? decoder.decode() : decoder.decode(value, { stream: true });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const lines = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        const field = (name) => lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2)).join("\n");
        const data = field("data");
        if (data) yield { event: field("event"), data: JSON.parse(data) };
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

const asRequest = (query) => (typeof query === "string" ? { query } : query);

export class Metafuse {
  #url;
  #key;
  #fetch;

  /** @param {import("./metafuse-client").MetafuseOptions} [options] */
  constructor({ url, key, fetch: ask } = {}) {
    const here = globalThis.location?.origin;
    if (!url && !here) throw new TypeError("Metafuse needs the server's url, such as http://127.0.0.1:8080");
    this.#url = String(url ?? here).replace(/\/+$/, "");
    this.#key = key;
    this.#fetch = ask ?? ((...call) => globalThis.fetch(...call));
  }

  async #ask(path, init = {}) {
    const headers = { ...init.headers };
    if (this.#key) headers.Authorization = `Bearer ${this.#key}`;
    let response;
    try {
      response = await this.#fetch(this.#url + path, { ...init, headers });
    } catch (error) {
      throw disconnected(`${this.#url} does not answer`, error);
    }
    if (!response.ok) throw await failure(response);
    return response;
  }

  async #post(path, body, { signal, keepalive } = {}) {
    const headers = { "Content-Type": "application/json" };
    const response = await this.#ask(path, { method: "POST", headers, body: JSON.stringify(body), signal, keepalive });
    return response.json();
  }

  /**
   * Searches for a plain query or with a request of POST /v1/search; members of a request may also stand among the
   * options, as in search("otters", { domain: "animals" }).
   */
  search(query, { signal, keepalive, ...members } = {}) {
    return this.#post("/v1/search", { ...asRequest(query), ...members }, { signal, keepalive });
  }

  /**
   * Searches and yields a new answer as each list arrives: {event: "partial", ...answer, arrived, wanted}, and at
   * last {event: "final", ...answer}. Throws a MetafuseError where the stream ends otherwise. The query has the
   * parameters of GET /v1/search/stream; they may also stand among the options.
   */
  async *stream(query, { signal, ...members } = {}) {
    const { query: q, slots = {}, ...rest } = { ...asRequest(query), ...members };
    const parameters = new URLSearchParams();
    if (q) parameters.set("q", q);
    for (const [name, value] of Object.entries(slots)) parameters.set(`slot.${name}`, value);
    for (const [name, value] of Object.entries(rest)) if (value !== undefined) parameters.set(name, String(value));
    const response = await this.#ask(`/v1/search/stream?${parameters}`, { signal });
    for await (const { event, data } of eventsOf(response.body)) {
      if (event === "error") throw new MetafuseError(data.detail, 503);
      yield { event, ...data };
      if (event === "final") return;
    }
    throw new MetafuseError("the stream ended before its last answer", 0);
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
      const headers = { "Content-Type": "application/x-ndjson" };
      const response = await this.#ask(`/v1/documents/${encodeURIComponent(domain)}`, { method: "POST", headers, body: lines, signal });
      stored += (await response.json()).stored;
    }
    return stored;
  }

  /** Removes documents from a domain's embedded index by their addresses. */
  async removeDocuments(domain, urls, { signal } = {}) {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ urls });
    const response = await this.#ask(`/v1/documents/${encodeURIComponent(domain)}`, { method: "DELETE", headers, body, signal });
    return (await response.json()).removed;
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
