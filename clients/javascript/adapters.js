// What the adapters of frameworks share: the ids of documents, and the lists of several retrievers, fused by the server.
import { createHash } from "node:crypto";

// limits of POST /v1/fuse
const mostResults = 1000;
const mostQueryBytes = 4096;
const mostIdBytes = 1024;

const digest = (text) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

/** An id as the server takes it: a document's own, or a digest if it has none or too long a one. */
export function idFor(own, text) {
  const id = String(own ?? "");
  if (id === "") return digest(text);
  return Buffer.byteLength(id) > mostIdBytes ? digest(id) : id;
}

/** The beginning of a text that has at most so many bytes of UTF-8, in whole characters. */
function cut(text, most) {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  let end = most;
  while ((bytes[end] & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}

/**
 * Asks retrievers at once and fuses what they return. One that fails is a missing list; if all fail, so does this.
 *
 * @param client a Metafuse
 * @param retrievers [name, retriever] of each
 * @param ask (retriever, name) => a promise of its items
 * @param idOf item => its id, of idFor()
 * @param request {domain, method, limit, query}; the query is sent only to a domain, which learns from it
 * @returns {item, result, fusion} of each, best first: `fusion` is for the item's metadata
 */
export async function fuseRetrieved(client, { retrievers, ask, idOf, request: { query, ...request }, signal }) {
  const outcomes = await Promise.allSettled(retrievers.map(([name, retriever]) => ask(retriever, name)));
  const failures = outcomes.filter((outcome) => outcome.status === "rejected");
  if (failures.length === outcomes.length) throw failures[0].reason;
  const items = new Map();
  const lists = outcomes.flatMap((outcome, i) => {
    if (outcome.status === "rejected") return [];
    const results = outcome.value.slice(0, mostResults).map((item) => {
      const id = idOf(item);
      if (!items.has(id)) items.set(id, item);
      return id;
    });
    return [{ name: retrievers[i][0], results }];
  });
  const asked = request.domain && query ? { query: cut(query, mostQueryBytes) } : {};
  const answer = await client.fuse({ ...request, ...asked, lists }, { signal });
  return answer.results.map((result) => {
    const { id, rank, score, relative_score, lists: placements, relevance } = result;
    const fusion = { id, rank, score, relative_score, lists: placements, ...(relevance !== undefined && { relevance }) };
    if (answer.search_id) fusion.search_id = answer.search_id;
    return { item: items.get(id), result, fusion };
  });
}
