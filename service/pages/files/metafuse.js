"use strict";
// Keyboard control, click feedback, completions, and the second half of a page that began with the first lists.
// Everything else works without this script.
(() => {
  const box = document.getElementById("q");

  // Tells the server that a page may begin before all lists are there. Such a page ends with the whole one in a
  // template: what it has in view or above stays where it is, and the rest takes its places below.
  document.cookie = "completes=1; Path=/; SameSite=Strict";
  const whole = document.getElementById("whole");
  const promise = document.querySelector("[data-lost]");
  const numbered = (list) => [...list.children].forEach((item, i) => (item.dataset.position = String(i + 1)));
  const join = (content) => {
    const main = document.getElementById("main");
    const old = [...document.querySelectorAll(".results > li")];
    const fresh = content.querySelector(".results");
    if (!fresh) return main.replaceChildren(...content.childNodes);
    numbered(fresh);
    // a result that cannot be opened has no link, but an address below its title
    const addressOf = (item) => item.querySelector("h2 a")?.getAttribute("href") ?? item.querySelector("cite").textContent;
    const found = new Map([...fresh.children].map((item) => [addressOf(item), item]));
    const kept = old.filter((item) => item.getBoundingClientRect().top < window.innerHeight && found.has(addressOf(item)));
    const focused = document.activeElement;
    const top = kept.length > 0 ? kept[0].getBoundingClientRect().top : 0;
    for (const item of kept) {
      const same = found.get(addressOf(item));
      item.dataset.position = same.dataset.position;
      same.remove();
    }
    fresh.prepend(...kept);
    main.replaceChildren(...content.childNodes);
    if (kept.length > 0) window.scrollBy(0, kept[0].getBoundingClientRect().top - top);
    if (main.contains(focused)) focused.focus({ preventScroll: true });
  };
  if (whole) join(whole.content);
  else document.querySelectorAll(".results").forEach(numbered);
  if (promise && !whole) promise.textContent = promise.dataset.lost; // the server failed or the connection was lost

  const items = [...document.querySelectorAll(".results > li")];
  let at = -1;

  const move = (step) => {
    if (items.length === 0) return;
    if (at >= 0) items[at].classList.remove("on");
    at = Math.min(items.length - 1, Math.max(0, at + step));
    items[at].classList.add("on");
    items[at].querySelector("h2 a")?.focus();
    items[at].scrollIntoView({ block: "nearest" });
  };

  // Sends clicks on results as feedback, which trains the ranking. The server set the search's id in the page.
  const list = document.querySelector(".results");
  const search = list && list.dataset.search;
  if (search) {
    const report = (event) => {
      if (event.type === "auxclick" && event.button !== 1) return;
      const link = event.target.closest("h2 a, .thumbnail");
      if (!link) return;
      const position = Number(link.closest("li").dataset.position);
      const body = JSON.stringify({ search_id: search, kind: "click", position });
      navigator.sendBeacon("/v1/feedback", new Blob([body], { type: "application/json" }));
    };
    list.addEventListener("click", report);
    list.addEventListener("auxclick", report); // a middle click opens the result in a new tab
  }

  // Completions while typing: a combobox whose list the arrow keys move through. Enter without a choice searches for
  // the typed text.
  const form = box && box.form;
  if (box && window.fetch) {
    const offers = document.createElement("ul");
    offers.className = "offers";
    offers.id = "offers";
    offers.hidden = true;
    offers.setAttribute("role", "listbox");
    offers.setAttribute("aria-label", form.dataset.completions);
    form.append(offers);
    for (const [name, value] of Object.entries({ role: "combobox", "aria-expanded": "false", "aria-controls": "offers",
      "aria-autocomplete": "list" })) box.setAttribute(name, value);
    let typed = box.value;
    let chosen = -1;
    let timer = 0;
    let asked = 0;

    const close = () => {
      clearTimeout(timer);
      ++asked; // an answer that is still to come is not shown
      offers.hidden = true;
      chosen = -1;
      box.setAttribute("aria-expanded", "false");
      box.removeAttribute("aria-activedescendant");
    };
    const choose = (index) => {
      const count = offers.children.length;
      chosen = ((index + 1 + count + 1) % (count + 1)) - 1;
      [...offers.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)));
      box.value = chosen < 0 ? typed : offers.children[chosen].textContent;
      if (chosen < 0) box.removeAttribute("aria-activedescendant");
      else box.setAttribute("aria-activedescendant", offers.children[chosen].id);
    };
    const show = (texts) => {
      offers.replaceChildren(...texts.map((text, i) => {
        const item = document.createElement("li");
        item.id = `offer-${i}`;
        item.textContent = text;
        item.setAttribute("role", "option");
        item.setAttribute("aria-selected", "false");
        return item;
      }));
      if (texts.length === 0) return close();
      chosen = -1;
      offers.hidden = false;
      box.setAttribute("aria-expanded", "true");
    };
    const ask = async () => {
      const mine = ++asked;
      const domain = form.elements.domain ? `&domain=${encodeURIComponent(form.elements.domain.value)}` : "";
      try {
        const answer = await fetch(`/autocompleter?q=${encodeURIComponent(typed)}${domain}`,
          { headers: { "X-Requested-With": "XMLHttpRequest" } });
        const texts = answer.ok ? await answer.json() : [];
        if (mine === asked && document.activeElement === box) show(texts.filter((text) => text !== typed));
      } catch {
        if (mine === asked) close(); // typing continues without completions
      }
    };
    box.addEventListener("input", () => {
      typed = box.value;
      clearTimeout(timer);
      if (typed.trim().length < 2) return close();
      timer = setTimeout(ask, 80);
    });
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !offers.hidden) {
        event.stopPropagation();
        event.preventDefault(); // else the browser would empty the search box
        choose(-1);
        return close();
      }
      if (offers.hidden || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    });
    offers.addEventListener("mousedown", (event) => {
      event.preventDefault(); // keeps the focus in the box
      if (event.button !== 0) return;
      const item = event.target.closest("li");
      if (!item) return;
      box.value = item.textContent;
      form.requestSubmit();
    });
    box.addEventListener("blur", close);
  }

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
