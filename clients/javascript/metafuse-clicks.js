// Reports clicks on links below an element with data-search-id to a metafuse server. The result is identified by
// data-position, data-id or data-url of the link or an element around it, otherwise by the link's address. The server
// is data-server of this script's tag, otherwise the origin of the script.
(() => {
  const script = document.currentScript;
  const server = script?.dataset.server ?? (script?.src ? new URL(script.src).origin : "");
  const sent = new Set();
  const report = (event) => {
    if (event.type === "auxclick" && event.button !== 1) return;
    const link = event.target.closest?.("a[href]");
    const list = link?.closest("[data-search-id]");
    if (!list?.dataset.searchId) return;
    const near = link.closest("[data-position],[data-id],[data-url]");
    const { position, id, url } = near && list.contains(near) ? near.dataset : {};
    const result = position ? { position: +position } : id ? { id } : { url: url ?? link.href };
    const text = JSON.stringify({ search_id: list.dataset.searchId, kind: "click", ...result });
    if (sent.has(text)) return;
    sent.add(text);
    const body = new Blob([text], { type: "application/json" });
    const to = new URL("/v1/feedback", server || location.href);
    // a beacon sends cookies, so it is used only for the page's own origin
    if (to.origin === location.origin && navigator.sendBeacon(to, body)) return;
    fetch(to, { method: "POST", body, keepalive: true, credentials: "omit" }).catch(() => {});
  };
  addEventListener("click", report, true);
  addEventListener("auxclick", report, true);
})();
