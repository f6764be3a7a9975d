// What is chosen among the memories, and what is done to all of it at once.
(() => {
  "use strict";
  const { $, $$, anew, call, decided, doings, say, told, dialog } = window.kept;
  const boxes = () => $$("[data-choose]").filter((each) => each.checked);
  const chosen = () => boxes().map((each) => ({ id: each.dataset.choose, revision: each.dataset.revision }));

  const count = () => {
    const bar = $("#chosen");
    if (!bar) return;
    const many = boxes().length;
    bar.hidden = many === 0;
    $("strong", bar).textContent = `${many.toLocaleString("en")} chosen`;
    for (const each of $$("[data-least]", bar)) each.disabled = many < Number(each.dataset.least);
  };
  const none = () => { for (const each of boxes()) each.checked = false; count(); };

  document.addEventListener("change", (event) => { if (event.target.matches("[data-choose]")) count(); });
  document.addEventListener("htmx:after:swap", count);
  document.body.addEventListener("kept:changed", count);

  doings.none = none;
  doings.all = (button) => { for (const each of $$("[data-choose]", button.closest("section") || document)) each.checked = true; count(); };
  // Each is decided by itself, so that each can be taken back by itself on its card; the note takes back all of them.
  doings.decide = async (button) => {
    const rows = boxes().map((each) => each.closest(".row")), undone = [], last = rows.at(-1);
    button.setAttribute("aria-busy", "true");
    let next = last;
    for (const row of rows) {
      const { send, revision } = $(`[data-key="${button.dataset.by}"]`, row).dataset;
      const { ok, value } = await call(...send.split(" "), {}, revision);
      if (ok) { decided.set(row.id, value.undo); undone.push(value.undo); } else say(told(value), { bad: true });
      const now = await anew(row);
      if (row === last) next = now;
    }
    button.removeAttribute("aria-busy");
    document.body.dispatchEvent(new CustomEvent("kept:changed"));
    const all = $$(".row.decide");
    (all.slice(all.indexOf(next)).find((each) => !each.matches(".done")) || $(".row.decide:not(.done)") || next)?.focus();
    say(`${undone.length.toLocaleString("en")} ${button.dataset.by === "y" ? "kept" : "turned down"}.`, { undo: undone.join(",") });
  };
  doings.merge = () => dialog(`/memories/merge?${new URLSearchParams(chosen().map((each) => ["id", each.id]))}`);
  doings.several = async (button) => {
    const { act } = button.dataset, memories = chosen();
    const { ok, value } = await call("POST", "/api/several", { act, memories });
    if (!ok) { say(told(value), { bad: true }); window.kept.lists(); return; }
    const done = { pin: "pinned", unpin: "unpinned", retire: "retired" }[act];
    say(`${memories.length.toLocaleString("en")} ${done}.`, { undo: value.undo });
    none();
    window.kept.lists();
  };
  doings.forget = async (button) => {
    const ids = chosen().map((each) => each.id);
    button.dataset.askFrom = `/memories/forget?${new URLSearchParams(ids.map((id) => ["id", id]))}`;
    button.dataset.yes = "Erase for good";
    const ticked = await window.kept.ask(button);
    if (!ticked) return;
    const { ok, value } = await call("POST", "/api/forget", { memories: ids, sure: true, ...ticked });
    if (ok) for (const problem of value.problems) say(problem, { bad: true });
    ok ? say(`${ids.length.toLocaleString("en")} forgotten for good.`) : say(told(value), { bad: true });
    none();
    window.kept.lists();
  };
})();
