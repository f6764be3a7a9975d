// Selected memories, and changes to all of them at once.
(() => {
  "use strict";
  const { $, $$, acts, call, doings, say, told, dialog } = window.kept;
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

  // Adapt the labels to what is shown: the list or search results.
  document.addEventListener("htmx:after:swap", () => {
    const q = $("#q")?.value.trim();
    if (q === undefined) return;
    $("#title").textContent = q ? "Search" : "Memories";
    document.title = `${q ? `“${q}”, search` : "Memories"} · kept`;
    for (const each of $$("[data-searching]")) each.textContent = each.dataset[q ? "searching" : "listing"];
  });
  // The kind to search is a field of the filter form, so that it is combined with the present choices even during a request.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-within]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    $("#within").value = link.dataset.within;
    $("#filter select").dispatchEvent(new Event("change", { bubbles: true }));
  });
  document.addEventListener("change", (event) => { if (event.target.matches("[data-choose]")) count(); });
  document.addEventListener("htmx:after:swap", count);
  document.body.addEventListener("kept:changed", count);

  doings.none = none;
  doings.all = (button) => { for (const each of $$("[data-choose]", button.closest("section") || document)) each.checked = true; count(); };
  doings.merge = () => dialog(`/memories/merge?${new URLSearchParams(chosen().map((each) => ["id", each.id]))}`);
  doings.several = async (button) => {
    const { act } = button.dataset, memories = chosen();
    const { ok, value } = await call("POST", "/api/several", { act, memories });
    if (!ok) { say(told(value), { bad: true }); window.kept.lists(); return; }
    const done = { pin: "pinned", unpin: "unpinned", retire: "retired" }[act];
    say(`${memories.length.toLocaleString("en")} ${done}.`, { act: acts.add(value.undo) });
    none();
    window.kept.lists();
  };
  doings["forget-chosen"] = async (button) => {
    await window.kept.forget(button, chosen().map((each) => each.id));
    none();
  };
})();
