"use strict";
// Keyboard use of the result page; without this script everything still works.
(() => {
  const box = document.getElementById("q");
  const items = [...document.querySelectorAll(".results > li")];
  let at = -1;

  const move = (step) => {
    if (items.length === 0) return;
    if (at >= 0) items[at].classList.remove("on");
    at = Math.min(items.length - 1, Math.max(0, at + step));
    items[at].classList.add("on");
    items[at].querySelector("h2 a").focus();
    items[at].scrollIntoView({ block: "nearest" });
  };

  // A click on a result is feedback that trains the ranking; the server gave the search its id.
  const list = document.querySelector(".results");
  const search = list && list.dataset.search;
  if (search) {
    list.addEventListener("click", (event) => {
      const link = event.target.closest("h2 a");
      if (!link) return;
      const position = items.indexOf(link.closest("li")) + 1;
      const body = JSON.stringify({ search_id: search, kind: "click", position });
      navigator.sendBeacon("/v1/feedback", new Blob([body], { type: "application/json" }));
    });
  }

  // A mistake of a template file leads to its line.
  const file = document.getElementById("yaml");
  for (const link of document.querySelectorAll("a[data-line]"))
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const lines = file.value.split("\n");
      const number = Math.max(1, Number(link.dataset.line));
      const begin = lines.slice(0, number - 1).join("\n").length + (number > 1 ? 1 : 0);
      file.focus();
      file.setSelectionRange(begin, begin + (lines[number - 1] || "").length);
      file.scrollTop = (file.scrollHeight * (number - 1)) / lines.length - file.clientHeight / 2;
    });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key === "Escape" && isTyping) event.target.blur();
    if (isTyping) return;
    if (event.key === "/") {
      event.preventDefault();
      box.focus();
      box.select();
    } else if (event.key === "j") {
      move(1);
    } else if (event.key === "k") {
      move(-1);
    }
  });
})();
