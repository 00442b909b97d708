"use strict";
// The administrators' and judges' pages. An API key that was typed once is sent with every form of this tab until the
// tab is closed (it is kept in sessionStorage, never in a cookie), answers replace the page's content if what was typed
// is in them, and the keyboard can be used for judging. Without this script the forms work the same, but the API key must
// be typed each time; what was typed beside a refused key comes back hidden, to be sent again.
(() => {
  const main = document.getElementById("main");
  const roleOf = (form) => form.dataset.signed || "admin";
  const nameOf = (form) => "metafuse-key-" + roleOf(form);
  const names = (prefix) => Object.keys(sessionStorage).filter((name) => name.startsWith(prefix));
  // The key that was accepted for the form's role, or else for another role, unless it was refused for this one.
  const kept = (form) => {
    const refused = sessionStorage.getItem("metafuse-refused-" + roleOf(form));
    const keys = [nameOf(form), ...names("metafuse-key-")].map((name) => sessionStorage.getItem(name));
    return keys.find((key) => key && key !== refused);
  };
  const forms = () => [...main.querySelectorAll("form")].filter((form) => form.elements.key);

  const prepare = () => {
    for (const form of forms()) {
      const key = kept(form);
      if (!key) continue;
      form.elements.key.value = key;
      const row = form.elements.key.closest(".key");
      if (row) row.hidden = true;
    }
    const out = document.querySelector("[data-sign-out]");
    if (out) out.hidden = names("metafuse-key-").length === 0;
    const first = main.querySelector(".judged > li");
    if (first) go(first);
  };

  // Whether the answered page has the form with all that was typed or chosen in it. After an action that succeeded it may
  // be the form's next step.
  const keepsTyped = (page, form, isDone) => {
    const same = [...page.querySelectorAll("#main form")].find((one) => one.getAttribute("action") === form.getAttribute("action"));
    const typed = [...form.querySelectorAll("textarea, input[type=radio]:checked")];
    return same !== undefined && (isDone || typed.every((control) => same.elements[control.name] && !same.elements[control.name].hidden));
  };

  // Says above the form what went wrong, and leaves the form as it is.
  const complain = (form, text) => {
    for (const old of main.querySelectorAll(".notice[role=status], .notice[data-unanswered]")) old.remove();
    const notice = document.createElement("p");
    notice.className = "notice error";
    notice.dataset.unanswered = "";
    notice.setAttribute("role", "alert");
    notice.textContent = text;
    form.before(notice);
    notice.scrollIntoView({ block: "nearest" });
  };

  const send = async (form, button) => {
    if (main.hasAttribute("aria-busy")) return; // the first press is being answered
    const body = new URLSearchParams(new FormData(form));
    if (button && button.name) body.set(button.name, button.value);
    const key = body.get("key");
    main.setAttribute("aria-busy", "true");
    let answer;
    let page;
    try {
      answer = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { Accept: "text/html" } });
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      return complain(form, "The server did not answer; what was typed may not be saved. Try again.");
    } finally {
      main.removeAttribute("aria-busy");
    }
    if (answer.status === 401 || answer.status === 403) {
      sessionStorage.removeItem(nameOf(form));
      sessionStorage.setItem("metafuse-refused-" + roleOf(form), key);
    }
    // An action that is refused for another reason has accepted the key as well.
    else if (key && (answer.ok || [409, 412, 422].includes(answer.status))) sessionStorage.setItem(nameOf(form), key);
    if (!keepsTyped(page, form, answer.ok)) {
      const row = form.elements.key?.closest(".key");
      if (row && (answer.status === 401 || answer.status === 403)) row.hidden = false;
      const why = page.querySelector("#main [role=alert]")?.textContent;
      return complain(form, why ? `Not done: ${why}`
        : `The server answered with status ${answer.status}; what was typed may not be saved. Try again.`);
    }
    main.replaceChildren(...page.getElementById("main").childNodes);
    prepare();
    if (!main.contains(document.activeElement)) main.focus();
    window.scrollTo(0, 0);
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const button = event.submitter;
    if (!form.dataset.signed || !main.contains(form) || (button && "native" in button.dataset)) return;
    event.preventDefault();
    send(form, button);
  });

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-sign-out]")) return;
    for (const name of names("metafuse-")) sessionStorage.removeItem(name);
    location.assign(location.pathname);
  });

  // A click on a mistake in a template file selects its line.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-line]");
    if (!link) return;
    event.preventDefault();
    const file = document.getElementById("yaml");
    const lines = file.value.split("\n");
    const number = Math.max(1, Number(link.dataset.line));
    const begin = lines.slice(0, number - 1).join("\n").length + (number > 1 ? 1 : 0);
    file.focus();
    file.setSelectionRange(begin, begin + (lines[number - 1] || "").length);
    file.scrollTop = (file.scrollHeight * (number - 1)) / lines.length - file.clientHeight / 2;
  });

  // Judging: the current result is the one with the focus.
  const go = (item) => {
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  };
  const store = (item, grade) => {
    const note = (isSaved) => {
      item.classList.toggle("unsaved", !isSaved);
      item.querySelector("[role=status]").textContent = isSaved ? "" : "Not saved yet; the buttons below the list save all grades.";
    };
    const form = item.closest("form");
    const list = item.closest(".judged");
    const grades = [{ position: Number(item.dataset.position), grade: Number(grade) }];
    const path = form.getAttribute("action").replace("/judge/", "/v1/judgments/") + "/grades";
    fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: "Bearer " + form.elements.key.value },
      body: JSON.stringify({ search_id: list.dataset.search, grades }),
    }).then((answer) => note(answer.ok), () => note(false));
  };
  document.addEventListener("change", (event) => {
    const item = event.target.closest(".judged > li");
    if (item && event.target.type === "radio") store(item, event.target.value);
  });
  document.addEventListener("keydown", (event) => {
    const list = main.querySelector(".judged");
    const isText = /^(TEXTAREA|SELECT)$/.test(event.target.tagName) || (event.target.tagName === "INPUT" && event.target.type !== "radio");
    if (!list || isText || event.ctrlKey || event.metaKey || event.altKey) return;
    const items = [...list.children];
    const at = items.findIndex((item) => item.contains(document.activeElement));
    const item = items[at];
    if (!item && items.length > 0 && /^[0-4jko]$/.test(event.key)) {
      go(items[0]); // nothing is done to a result that the judge has not come to
    } else if (item && /^[0-4]$/.test(event.key)) {
      const choice = item.querySelector(`input[value="${event.key}"]`);
      choice.checked = true;
      store(item, event.key);
      go(items[at + 1] || item);
    } else if (event.key === "j") {
      if (items[at + 1]) go(items[at + 1]);
    } else if (event.key === "k") {
      if (items[at - 1]) go(items[at - 1]);
    } else if (event.key === "o" && item) {
      item.querySelector("a")?.click(); // a file without a link has none
    } else if (event.key === "Enter" && !/^(A|BUTTON|SUMMARY)$/.test(event.target.tagName)) {
      list.closest("form").querySelector('[value="save-next"]').click();
    } else {
      return;
    }
    event.preventDefault();
  });

  prepare();
  // If a key is already known, show the content without a press of the button.
  const start = main.querySelector("form[data-signed] button[data-start]");
  if (start && kept(start.form)) send(start.form, start);
})();
