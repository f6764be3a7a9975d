// Behaviour of pages, declared by attributes, so that most pages need no script of their own:
//   data-send="POST /api/…"   on a button or form: sends JSON (data-body, or the form's fields) and shows the result
//   data-revision="…"         is sent as If-Match: if somebody else changed the memory, nothing is changed and the row is reloaded
//   data-ask="…"              is asked first; data-ask-from="/path" shows the part from that path in the question instead
//   data-done="…"             the message after success, with Undo if possible; with data-go="/path" the browser goes there instead
//   data-held="…"             the message instead if the memory is held
//   data-row="/path"          on an enclosing element: the part with which it is replaced after a change inside it
//   data-list                 on an element that is part of the page itself: it is reloaded if more than one row changed
//   data-closes               on a form in a dialog: the dialog closes after success
//   data-next                 on a button: after success, the next row gets the focus
//   data-do="part", data-do="dialog", with data-from="/path": shows a part in place of the row, or in a dialog
//   data-key="e"              the key that clicks the element in the focused row, or anywhere if there is no focused row
// Everything that shows data that may change listens for "kept:changed" on the body (hx-trigger="kept:changed from:body").
(() => {
  "use strict";
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, text = "", kind = "") => Object.assign(document.createElement(name), { textContent: text, className: kind });

  // A request that is aborted because the page is left is not an error.
  let leaving = false;
  window.addEventListener("beforeunload", () => { leaving = true; });
  window.addEventListener("pageshow", () => { leaving = false; });

  // ---- messages ----------------------------------------------------------------------------------------------------------
  // Show a message; its Undo button reverts ``act``.
  const say = (text, { bad = false, act = null } = {}) => {
    const line = make("p", "", bad ? "bad" : "");
    line.append(make("span", text));
    if (act) {
      const button = make("button", "Undo");
      button.type = "button";
      button.title = "or press u, on any page";
      button.addEventListener("click", () => takeBack(act));
      line.dataset.act = act.id;
      line.append(button);
    }
    const close = make("button", "Close");
    close.type = "button";
    close.addEventListener("click", () => line.remove());
    line.append(close);
    const said = $("#said");
    said.replaceChildren(...[...said.children].slice(-2), line);
    setTimeout(() => { if (!line.matches(":hover, :focus-within")) line.remove(); }, bad || act ? 30000 : 10000);
  };

  const told = (problem) => [problem.error + (problem.where && !/^[0-9a-f]{10}$/.test(problem.where) ? ` (${problem.where})` : ""), problem.hint].filter(Boolean).join(" → ");

  const call = async (method, path, body, revision) => {
    const headers = { Accept: "application/json", Prefer: "respond-async" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (revision) headers["If-Match"] = `"${revision}"`;
    try {
      const sent = body === undefined ? undefined : JSON.stringify(body);
      const answer = await fetch(path, { method, headers, body: sent, keepalive: (sent || "").length < 20000 });  // the request completes even if the page is left
      const text = await answer.text();
      let value = {};
      try { value = text ? JSON.parse(text) : {}; } catch { value = { error: `it answered ${answer.status}` }; }
      return { ok: answer.ok, status: answer.status, value };
    } catch {
      return { ok: false, status: 0, value: { error: "kept web does not answer", hint: "is it still running?" } };
    }
  };

  const part = async (path) => {
    try {
      const answer = await fetch(path, { headers: { "HX-Request": "true" } });
      const holder = document.createElement("template");
      holder.innerHTML = await answer.text();
      if (answer.ok) return holder.content;
      if (answer.status !== 404) say(holder.content.textContent.trim(), { bad: true });
    } catch {
      if (!leaving) say("kept web does not answer. Is it still running?", { bad: true });
    }
    return null;
  };

  const place = (element, content) => {
    const now = content.firstElementChild, held = element.contains(document.activeElement);
    element.replaceWith(now);
    htmx.process(now);
    const first = $("[autofocus]", now);
    if (first) { first.focus(); first.setSelectionRange?.(first.value.length, first.value.length); } else if (held) (now.matches("[tabindex]") ? now : $("a, button", now))?.focus();
    $(".turn.cited", now)?.scrollIntoView({ block: "center" });
    document.dispatchEvent(new CustomEvent("htmx:after:swap"));
    return now;
  };

  // A decision can be undone on its card as long as the page is open, even after the message has disappeared.
  const decided = new Map();  // id of the row → the act to undo
  const offer = (row) => {
    if (!row?.matches(".decide.done") || !decided.has(row.id)) return row;
    const button = make("button", "Undo", "quiet");
    button.type = "button";
    button.dataset.key = "u";
    button.addEventListener("click", () => takeBack(decided.get(row.id)));
    row.lastElementChild.append(" ", button);
    return row;
  };

  const anew = async (row) => {
    const content = await part(row.dataset.row);
    if (content?.firstElementChild) return offer(place(row, content));
    row.remove();
    return null;
  };

  const lists = () => Promise.all($$("[data-list]").map(async (list) => {
    const content = await part(list.dataset.list || location.pathname + location.search);
    if (!content) return;
    const held = document.activeElement?.closest(".row")?.id;
    const same = $("[data-list]", content);  // if the response is the whole page
    list.replaceChildren(...(same || content).childNodes);
    htmx.process(list);
    if (held) document.getElementById(held)?.focus({ preventScroll: true });
    document.dispatchEvent(new CustomEvent("htmx:after:swap"));
  }));

  const changed = async (row, whole) => {
    if (row?.isConnected) await anew(row); else if (whole) await lists();
    document.body.dispatchEvent(new CustomEvent("kept:changed"));
  };

  // ---- undo --------------------------------------------------------------------------------------------------------------
  // The acts in this tab, the last one at the end, so that "u" undoes it on every page. Only numbers are stored, no text, so that
  // nothing of a forgotten memory remains here. ``jobs`` has the acts that are not saved yet.
  const jobs = new Map();  // id of an act → { cancel() → true if it was not sent, saved: a promise of what undoes it }
  const acts = {
    all: () => { try { return JSON.parse(sessionStorage.getItem("kept-acts")) || []; } catch { return []; } },
    put: (all) => sessionStorage.setItem("kept-acts", JSON.stringify(all.slice(-50))),
    add: (undo = "", rows = []) => {
      const act = { id: `${Date.now()}-${Math.random()}`, undo, rows };
      acts.put([...acts.all(), act]);
      return act;
    },
    drop: (act) => acts.put(acts.all().filter((each) => each.id !== act.id)),
    saved: (act, undo) => { act.undo = undo; acts.put(acts.all().map((each) => each.id === act.id ? act : each)); },
  };

  const takeBack = async (act) => {
    acts.drop(act);
    $$(`#said [data-act="${CSS.escape(act.id)}"]`).forEach((each) => each.remove());
    const job = jobs.get(act.id);
    if (job?.cancel()) return;
    const undo = job ? await job.saved : act.undo;
    if (undo === "settings") { say("Your last change was to settings: the Settings page marks what differs from the default.", { bad: true }); return; }
    if (!undo) {
      if (!job) say("That was still being saved when you left its page. History shows it and can undo it.", { bad: true });
      return;
    }
    const { ok, value } = await call("POST", "/api/undo", { what: undo });
    const rows = act.rows.map((id) => document.getElementById(id)).filter(Boolean);
    if (ok) for (const id of act.rows) decided.delete(id);
    await Promise.all((rows.length || $("[data-list], .rows.review") ? rows : $$("[data-row]")).map(anew));
    await changed(null, true);
    const back = document.getElementById(act.rows[0]);
    if (back) { back.focus({ preventScroll: true }); back.scrollIntoView({ block: "nearest" }); }
    ok ? say(`Undone${value.said ? `: ${value.said}` : "."}`) : say(told(value), { bad: true });
  };

  // ---- questions ---------------------------------------------------------------------------------------------------------
  // False if the answer is no; else the checked boxes in the question: name → list of values.
  const ask = async (element) => {
    if (!element.dataset.ask && !element.dataset.askFrom) return {};
    const dialog = make("dialog"), form = make("form"), what = make("div", element.dataset.ask || "", "stack");
    form.method = "dialog";
    const yes = make("button", element.dataset.yes || element.textContent.trim(), element.classList.contains("danger") ? "danger" : "first");
    const no = make("button", "Cancel"), buttons = make("div", "", "cluster");
    yes.value = "yes"; no.value = "no";
    buttons.append(yes, no);
    form.append(what, buttons);
    form.className = "stack";
    dialog.append(form);
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
    if (element.dataset.askFrom) {  // show the question at once, and its details when they are loaded
      const says = $(".says", element.closest(".row") || document)?.cloneNode(true), waits = make("p", "Looking where it stands …", "soft");
      waits.role = "status";
      if (says?.matches("h1")) what.append(make("p", says.textContent, "says")); else if (says) what.append(says);
      what.append(waits);
      yes.disabled = true;
      part(element.dataset.askFrom).then((content) => { content ? what.replaceChildren(content) : dialog.close(); yes.disabled = false; });
    }
    return new Promise((resolve) => dialog.addEventListener("close", () => {
      const ticked = {};
      for (const box of $$("input[type=checkbox]:checked", form)) (ticked[box.name] ||= []).push(box.value);
      dialog.remove();
      element.focus();
      resolve(dialog.returnValue === "yes" && ticked);
    }));
  };

  // ---- sending -----------------------------------------------------------------------------------------------------------
  const fieldsOf = (form) => {
    const body = {};
    for (const field of form.elements) {
      if (!field.name || field.disabled || (field.type === "radio" && !field.checked)) continue;
      if (field.type === "checkbox" && field.hasAttribute("value")) { body[field.name] ||= []; if (field.checked) body[field.name].push(field.value); }  // an item of a list
      else if (field.type === "checkbox") body[field.name] = field.checked;
      else if (field.type === "number") body[field.name] = field.value === "" ? null : Number(field.value);
      else body[field.name] = field.value;
    }
    return body;
  };

  const send = async (element) => {
    const ticked = element.getAttribute("aria-busy") !== "true" && await ask(element);
    if (!ticked) return;
    const [method, path] = element.dataset.send.split(" ");
    const body = { ...JSON.parse(element.dataset.body || "{}"), ...(element.matches("form") ? fieldsOf(element) : {}), ...ticked };
    const row = element.closest("[data-row]");
    element.setAttribute("aria-busy", "true");
    const { ok, status, value } = await call(method, path, body, element.dataset.revision);
    if (ok && body.what) acts.put(acts.all().filter((each) => each.undo !== body.what));
    if (ok && path === "/api/sample") acts.put([]);  // the page now shows another store
    element.removeAttribute("aria-busy");
    if (!ok) {
      if (status === 412 && element.matches("form") && path.startsWith("/api/memories/")) {  // keep what was typed, with the new revision, so that it can be sent again
        const now = await call("GET", path.split("/").slice(0, 4).join("/"));
        if (now.value.revision) element.dataset.revision = now.value.revision;
      } else if (status === 412 && row) changed(row);
      say(told(value), { bad: true });
      element.dispatchEvent(new CustomEvent("kept:refused", { bubbles: true, detail: { status, value } }));
      return;
    }
    for (const problem of value.problems || []) say(problem, { bad: true });
    if (element.dataset.go) { location.assign(element.dataset.go); return; }
    element.dispatchEvent(new CustomEvent("kept:done", { bubbles: true, detail: value }));
    if (element.dataset.closes !== undefined) element.closest("dialog").close();
    const at = element.closest(".row")?.id;
    const act = value.undo ? acts.add(value.undo, at ? [at] : []) : null;
    if (at && act) decided.set(at, act);
    const now = location.pathname.startsWith("/memories/") && `${path.slice(4)}/`.startsWith(`${location.pathname}/`) ? value.memories?.[0] : null;
    if (now && !location.pathname.endsWith(now.id)) { location.assign(`/memories/${now.id}`); return; }  // another memory has superseded it
    await changed(row, true);
    const done = (value.memories?.[0]?.status === "held" && element.dataset.held) || element.dataset.done;
    if (done !== "") say((done || "Done.") + (value.said ? ` ${value.said}` : ""), { act });
    if (element.dataset.next !== undefined) { document.getElementById(at)?.focus(); move(1); }
  };

  // Erasing reads everything, backups included: a dialog shows the progress, and then the result.
  const forget = async (button, ids) => {
    button.dataset.askFrom = `/memories/forget?${new URLSearchParams(ids.map((id) => ["id", id]))}`;
    button.dataset.yes = "Erase for good";
    const ticked = await ask(button);
    if (!ticked) return;
    const made = make("dialog"), holder = make("div", "", "stack"), close = make("button", "Close", "first"), title = make("h2", "Erasing …");
    const lines = (items) => { const list = make("ul", "", "plain small"); list.append(...items.map((each) => make("li", each))); return list; };
    holder.append(title, make("p", "kept takes the words out of everything it has, and reads every file and backup again to be sure. That may take a minute or two; it goes on if you close this."), make("progress"));
    $("progress", holder).ariaLabel = "Erasing";
    close.addEventListener("click", () => made.close());
    made.addEventListener("close", () => made.remove());
    made.append(holder);
    holder.append(close);
    document.body.append(made);
    made.showModal();
    const places = (count) => `${count.toLocaleString("en")} ${count === 1 ? "place" : "places"}`;
    const erase = async (again) => {
      let over = false;
      const watch = setInterval(async () => {
        const { value: now } = await call("GET", "/api/forget");
        if (now.doing && !over) title.textContent = `Forgetting: ${now.doing} …`;
      }, 500);
      const { ok, value } = await call("POST", "/api/forget", { memories: ids, sure: true, ...ticked });
      over = true;
      clearInterval(watch);
      if (!ok && again) { title.textContent = `Not erased: ${told(value)}`; again.disabled = false; return; }
      if (!ok) { made.close(); say(told(value), { bad: true }); return; }
      const erased = Object.entries(value.places).map(([name, count]) => `${name[0].toUpperCase()}${name.slice(1)}: ${places(count)}`);
      const left = value.problems, more = make("button", "Try again", "first"), buttons = make("div", "", "cluster");
      more.addEventListener("click", () => { more.disabled = true; title.textContent = "Erasing …"; erase(more); });
      title.textContent = left.length ? `Forgotten, except in ${places(left.length)}` : "Forgotten for good.";
      holder.replaceChildren(title);
      if (left.length) holder.append(make("p", "What is left:", "bad"), lines(left));
      if (erased.length) holder.append(make("p", "Erased in:"), lines(erased));
      if (!left.length) holder.append(make("p", "Every file, row and backup of kept’s was read again; none has the words."));
      if (value.out_of_reach.length) holder.append(make("p", "Out of kept’s reach, for you to change:"), lines(value.out_of_reach));
      buttons.append(...(left.length ? [more] : []), close);
      close.className = left.length ? "" : "first";
      holder.append(buttons);
      if (!made.isConnected) { document.body.append(made); made.showModal(); }
      buttons.firstChild.focus();
      await changed(button.closest("[data-row]"), true);
    };
    await erase();
  };

  const dialog = async (path) => {
    const content = await part(path);
    if (!content) return;
    const made = make("dialog");
    made.append(content);
    made.addEventListener("close", () => made.remove());
    document.body.append(made);
    made.showModal();
    ($("[autofocus]", made) || $("button", made))?.focus();
  };

  document.addEventListener("click", (event) => {
    const element = event.target.closest("[data-send]:not(form), [data-do]");
    if (!element) return;
    event.preventDefault();
    element.dataset.send ? send(element) : doings[element.dataset.do]?.(element);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method === "dialog") return;
    if (form.getAttribute("action") === "/") { event.preventDefault(); location.assign(`/?q=${encodeURIComponent(form.elements.q.value)}`); return; }
    event.preventDefault();
    if (form.dataset.send) send(form);
  });

  // The back link of a memory's page leads to the search from which it was opened.
  const back = $("[data-back]"), from = back && document.referrer ? new URL(document.referrer) : null;
  if (from?.origin === location.origin && from.pathname === "/") back.setAttribute("href", from.pathname + from.search);

  // ---- small actions -----------------------------------------------------------------------------------------------------
  const doings = {
    theme: () => {
      const root = document.documentElement;
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      localStorage.setItem("kept-theme", root.dataset.theme);
    },
    dense: () => {
      const root = document.documentElement;
      root.dataset.rows = root.dataset.rows === "dense" ? "" : "dense";
      localStorage.setItem("kept-rows", root.dataset.rows);
    },
    keys: () => $("#keys").showModal(),
    pages: (element) => element.ariaExpanded = String($(".side").classList.toggle("open")),
    close: (element) => element.closest("dialog").close(),
    leave: async (element) => { (await anew(element.closest("[data-row]")))?.focus(); },
    part: async (element) => {
      const content = await part(element.dataset.from), row = element.closest("[data-row]");
      if (content && row) place(row, content);
    },
    dialog: (element) => dialog(element.dataset.from),
    really: () => {  // execute the run that was previewed
      const form = $('form[data-send="POST /api/runs"]');
      form.elements.dry.checked = false;
      form.requestSubmit();
    },
    fill: ({ dataset }) => { $(dataset.into).value = dataset.text; },
    forget: (element) => forget(element, [element.dataset.id]),
  };
  document.addEventListener("change", ({ target }) => {  // all transcripts of a source, or some of them
    if (target.name !== "only") return;
    const all = $$("input[name=only]", target.closest(".stack")), [whole, ...some] = all;
    if (target !== whole) whole.checked = !some.some((each) => each.checked); else for (const each of some) each.checked = false;
  });
  window.kept = { $, $$, make, say, told, call, part, changed, anew, acts, jobs, decided, offer, takeBack, doings, forget, fieldsOf, lists, dialog };

  // ---- menus of rows: only one is open, and a click elsewhere closes it ----------------------------------------------------
  document.addEventListener("toggle", (event) => {
    const menu = event.target;
    if (!menu.matches?.("details.menu") || !menu.open) return;
    for (const each of $$("details.menu[open]")) if (each !== menu) each.open = false;
    $("a, button", menu).focus({ preventScroll: true });
    $(".card", menu).scrollIntoView({ block: "nearest" });
  }, true);
  document.addEventListener("click", (event) => {
    for (const each of $$("details.menu[open]")) if (!each.contains(event.target) || event.target.closest("button")) each.open = false;
  });

  // ---- keyboard ----------------------------------------------------------------------------------------------------------
  const rows = () => $$(".row[tabindex]:not(.decide.done)").filter((each) => each.offsetParent !== null);
  const current = () => document.activeElement?.closest(".row") || null;
  const move = (by) => {
    const all = rows();
    if (!all.length) return;
    const now = current(), at = all.indexOf(now);
    const place = (each) => now && now.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING;
    const beside = at < 0 && now ? (by > 0 ? all.find(place) : all.findLast((each) => !place(each))) || now : null;
    const next = beside || all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };
  const writes = (element) => element.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=button])") || element.isContentEditable;

  // On a page without a search field, ask for the words and open the list of memories with them.
  const askForWords = () => {
    const made = make("dialog"), form = make("form", "", "search field"), label = make("label", "Search memories, days and conversations"), input = make("input");
    Object.assign(form, { action: "/" });
    Object.assign(input, { name: "q", type: "search", required: true, id: "ask-words" });
    label.htmlFor = input.id;
    form.append(label, input);
    made.append(form);
    made.addEventListener("close", () => made.remove());
    document.body.append(made);
    made.showModal();
    input.focus();
  };

  let awaited = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const element = event.target, inside = element.matches ? writes(element) : false;
    if (event.key === "Escape" && inside) {
      const leave = $("[data-do=leave]", element.closest("form") || element);
      leave ? leave.click() : element.blur();
      return;
    }
    if (event.key === "Enter" && element.matches?.("form:is([data-send], [data-judge]) textarea") && !event.shiftKey && !element.classList.contains("code")) {
      event.preventDefault();
      element.closest("form").requestSubmit();
      return;
    }
    if (inside || $("dialog[open]")) return;
    const menu = $("details.menu[open]");
    if (menu && event.key === "Escape") { menu.open = false; menu.closest(".row").focus(); return; }
    if (menu && event.key.startsWith("Arrow")) {
      const all = $$("a, button", menu), by = event.key === "ArrowDown" ? 1 : -1;
      event.preventDefault();
      all[(all.indexOf(element) + by + all.length) % all.length].focus();
      return;
    }
    if (awaited === "g") {
      awaited = "";
      const link = $(`.side nav a[data-to="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); return; }
    }
    if (event.key === "g") { awaited = "g"; setTimeout(() => { awaited = ""; }, 1200); return; }
    if (event.key === "j" || event.key === "k") { event.preventDefault(); move(event.key === "j" ? 1 : -1); return; }
    if (event.key === "?") { event.preventDefault(); doings.keys(); return; }
    if (event.key === "/") {
      const search = $("[data-search]");
      event.preventDefault();
      if (search) { search.focus(); search.select(); } else askForWords();
      return;
    }
    if ((event.key === "Enter" || event.key === " ") && element.matches?.("a, button, input, summary")) return;
    const row = current(), name = `[data-key="${CSS.escape(event.key === "Enter" ? "o" : event.key)}"]`;
    const others = $$(name).filter((each) => !each.closest(".row[tabindex]") && each.offsetParent !== null);
    const found = (row && $(name, row)) || others[0];
    if (!found && event.key === "u") {
      const act = acts.all().at(-1);
      act ? takeBack(act) : say("You changed nothing in this tab that is left to undo. History lists every change of a memory, with its undo.");
    }
    if (found?.matches("select")) { event.preventDefault(); found.focus(); return; }
    if (found) { event.preventDefault(); found.click(); if (row && found.type === "checkbox") row.focus(); }
  });

  // ---- htmx --------------------------------------------------------------------------------------------------------------
  document.addEventListener("htmx:before:request", (event) => {
    event.detail.ctx.fetch = (...asked) => fetch(...asked).catch((error) => { throw leaving ? new DOMException("left", "AbortError") : error; });
  });
  document.addEventListener("htmx:error", () => say("kept web does not answer. Is it still running?", { bad: true }));
  document.addEventListener("htmx:response:error", (event) => {
    const holder = document.createElement("template");
    holder.innerHTML = event.detail?.ctx?.text || "";
    say(holder.content.textContent.trim() || "That did not work.", { bad: true });
  });
  document.addEventListener("htmx:config:request", (event) => {  // leave empty fields out of the URL
    const { request } = event.detail.ctx;
    if (request.method === "GET" && request.body instanceof FormData) {
      for (const [name, value] of [...request.body]) if (value === "") request.body.delete(name);
    }
  });
})();
