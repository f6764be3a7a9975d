// What pages do, said by attributes; no page needs a script of its own for this:
//   data-send="POST /api/…"   on a button or form: sends JSON (data-body, or the form's fields) and tells what came of it
//   data-revision="…"         goes along as If-Match: where somebody was faster, nothing is changed and the row is shown as it is now
//   data-ask="…"              is asked first; data-ask-from="/path" shows that page's part in the question instead
//   data-done="…"             what is told when it is done, with an undo where there is one; data-go="/path" is gone to instead
//   data-row="/path"          on an element around it: the part of a page it is fetched anew from
//   data-key="e"              pressed in the row that has the focus, or anywhere where no row has one
// Everything that shows what may have changed listens for "kept:changed" on the body (hx-trigger="kept:changed from:body").
(() => {
  "use strict";
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, text = "", kind = "") => Object.assign(document.createElement(name), { textContent: text, className: kind });

  // ---- what is said ------------------------------------------------------------------------------------------------------
  const say = (text, { bad = false, undo = "" } = {}) => {
    const line = make("p", "", bad ? "bad" : "");
    line.append(make("span", text));
    if (undo) {
      const button = make("button", "Undo");
      button.type = "button";
      button.dataset.key = "u";
      button.addEventListener("click", () => { line.remove(); takeBack(undo); });
      line.append(button);
    }
    const close = make("button", "Close");
    close.type = "button";
    close.addEventListener("click", () => line.remove());
    line.append(close);
    const said = $("#said");
    said.replaceChildren(...[...said.children].slice(-2), line);
    setTimeout(() => { if (!line.matches(":hover, :focus-within")) line.remove(); }, bad ? 20000 : 10000);
  };

  const told = (problem) => [problem.error + (problem.where ? ` (${problem.where})` : ""), problem.hint].filter(Boolean).join(" → ");

  const call = async (method, path, body, revision) => {
    const headers = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (revision) headers["If-Match"] = `"${revision}"`;
    try {
      const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
      const text = await answer.text();
      let value = {};
      try { value = text ? JSON.parse(text) : {}; } catch { value = { error: `it answered ${answer.status}` }; }
      return { ok: answer.ok, status: answer.status, value };
    } catch {
      return { ok: false, status: 0, value: { error: "kept web does not answer", hint: "is it still running?" } };
    }
  };

  const changed = (rows = []) => {
    for (const row of new Set(rows)) if (row && row.isConnected) anew(row);
    document.body.dispatchEvent(new CustomEvent("kept:changed"));
  };

  const anew = async (row) => {
    const id = row.id, held = row.contains(document.activeElement) || row === document.activeElement;
    await htmx.ajax("GET", row.dataset.row, { target: row, swap: "outerHTML" });
    const now = id && document.getElementById(id);
    if (now && held) (now.matches("[tabindex]") ? now : $("[tabindex], button, a", now) || now).focus();
  };

  const takeBack = async (what) => {
    const { ok, value } = await call("POST", "/api/undo", { what });
    ok ? say("Taken back.") : say(told(value), { bad: true });
    changed($$("[data-row]"));
  };

  // ---- questions ---------------------------------------------------------------------------------------------------------
  const ask = async (element) => {
    if (!element.dataset.ask && !element.dataset.askFrom) return true;
    const dialog = make("dialog"), form = make("form"), what = make("div", element.dataset.ask || "", "stack");
    form.method = "dialog";
    if (element.dataset.askFrom) await htmx.ajax("GET", element.dataset.askFrom, { target: what, swap: "innerHTML" });
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
    return new Promise((resolve) => dialog.addEventListener("close", () => { dialog.remove(); element.focus(); resolve(dialog.returnValue === "yes"); }));
  };

  // ---- sending -----------------------------------------------------------------------------------------------------------
  const fieldsOf = (form) => {
    const body = {};
    for (const field of form.elements) {
      if (!field.name || field.disabled || (field.type === "radio" && !field.checked)) continue;
      if (field.type === "checkbox") body[field.name] = field.checked;
      else if (field.type === "number") body[field.name] = field.value === "" ? null : Number(field.value);
      else body[field.name] = field.value;
    }
    return body;
  };

  const send = async (element) => {
    if (element.getAttribute("aria-busy") === "true" || !(await ask(element))) return;
    const [method, path] = element.dataset.send.split(" ");
    const body = element.dataset.body ? JSON.parse(element.dataset.body) : element.matches("form") ? fieldsOf(element) : {};
    const row = element.closest("[data-row]");
    element.setAttribute("aria-busy", "true");
    const { ok, status, value } = await call(method, path, body, element.dataset.revision);
    element.removeAttribute("aria-busy");
    if (!ok) {
      say(told(value), { bad: true });
      if (status === 412) changed([row]);
      element.dispatchEvent(new CustomEvent("kept:refused", { bubbles: true, detail: { status, value } }));
      return;
    }
    for (const problem of value.problems || []) say(problem, { bad: true });
    if (element.dataset.go) { location.assign(element.dataset.go); return; }
    say(element.dataset.done || "Done.", { undo: value.undo || "" });
    element.dispatchEvent(new CustomEvent("kept:done", { bubbles: true, detail: value }));
    changed([row]);
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
    event.preventDefault();
    if (form.dataset.send) send(form);
  });

  // ---- small doings ------------------------------------------------------------------------------------------------------
  const doings = {
    theme: () => {
      const root = document.documentElement;
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      localStorage.setItem("kept-theme", root.dataset.theme);
    },
    keys: () => $("#keys").showModal(),
    close: (element) => element.closest("dialog").close(),
    leave: (element) => anew(element.closest("[data-row]")),
  };
  window.kept = { $, $$, make, say, told, call, changed, anew, doings, ask };

  // ---- keyboard ----------------------------------------------------------------------------------------------------------
  const rows = () => $$(".row[tabindex]").filter((each) => each.offsetParent !== null);
  const current = () => document.activeElement?.closest(".row") || null;
  const move = (by) => {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };
  const writes = (element) => element.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=button])") || element.isContentEditable;

  let awaited = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const element = event.target, inside = element.matches ? writes(element) : false;
    if (event.key === "Escape" && inside) {
      const leave = $("[data-do=leave]", element.closest("form") || element);
      leave ? leave.click() : element.blur();
      return;
    }
    if (event.key === "Enter" && element.matches?.("form[data-send] textarea") && !event.shiftKey && !element.classList.contains("code")) {
      event.preventDefault();
      element.closest("form").requestSubmit();
      return;
    }
    if (inside || $("dialog[open]")) return;
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
      if (search) { event.preventDefault(); search.focus(); search.select(); }
      return;
    }
    if ((event.key === "Enter" || event.key === " ") && element.matches?.("a, button, input, summary")) return;
    const row = current(), name = `[data-key="${CSS.escape(event.key)}"]`;
    const found = (row && $(name, row)) || $$(name).find((each) => !each.closest(".row") && each.offsetParent !== null);
    if (found) { event.preventDefault(); found.click(); if (row && found.type === "checkbox") row.focus(); }
  });

  // ---- htmx --------------------------------------------------------------------------------------------------------------
  document.addEventListener("htmx:error", () => say("kept web does not answer. Is it still running?", { bad: true }));
  document.addEventListener("htmx:after:swap", () => $("[autofocus]")?.focus());
})();
