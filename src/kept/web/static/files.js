// The file editor: save, preview a save, and resolve conflicts with changes made meanwhile. Typed text is never lost.
(() => {
  "use strict";
  const { $, acts, make, say, told, call, changed, doings } = window.kept;
  const form = $("#editor");
  if (!form) return;
  const field = $("#text"), state = $("#state"), path = `?name=${encodeURIComponent(form.dataset.name)}`;
  let saved = field.defaultValue.replace(/\r\n?/g, "\n"); // without text that was typed before this script ran

  const dirty = () => field.value !== saved;
  const note = () => {
    const now = dirty();
    for (const each of ["file-save", "file-preview", "file-revert"]) $(`[data-do=${each}]`).disabled = !now;
    state.textContent = now ? "changed, not saved" : "as it is on the disk";
    state.classList.toggle("warn", now);
  };
  const show = (file) => {
    const at = [field.scrollTop, field.selectionStart];
    field.value = file.text;
    saved = field.value;
    form.dataset.revision = file.revision;
    field.scrollTop = at[0];
    field.setSelectionRange(at[1], at[1]);
    $("#conflict").hidden = $("#preview").hidden = true;
    note();
  };
  const button = (text, kind, act) => {
    const made = make("button", text, kind);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  };
  const counts = (operations) => Object.entries(operations).map(([kind, count]) => `${count} ${kind}`).join(", ");

  const save = async ({ revision = form.dataset.revision, accept = false } = {}) => {
    if (!dirty() && revision === form.dataset.revision) return;
    const text = field.value;
    form.setAttribute("aria-busy", "true");
    const { ok, status, value } = await call("PUT", `/api/files/file${path}`, { text, accept_loss: accept }, revision);
    form.removeAttribute("aria-busy");
    if (ok) {
      const later = field.value !== text; // more was typed during the save
      if (later) { saved = value.file.text; form.dataset.revision = value.file.revision; note(); } else show(value.file);
      for (const problem of value.problems) say(problem, { bad: true });
      say(counts(value.operations) ? `Saved: ${counts(value.operations)}.` : "Saved. No memory changed.", { act: value.undo ? acts.add(value.undo) : null });
      changed();
    } else if (status === 412) {
      await conflict();
    } else if (status === 409 && /does not look like an edit/.test(value.error)) {
      refused(value);
    } else say(told(value), { bad: true });
  };

  const refused = (problem) => {
    const box = $("#conflict");
    box.replaceChildren(
      make("h2", "Do you mean it?"), make("p", told(problem)),
      button("Save it all the same", "danger", () => save({ accept: true })), button("Go on editing", "", () => { box.hidden = true; field.focus(); }),
    );
    box.hidden = false;
    box.scrollIntoView({ block: "nearest" });
  };

  const conflict = async () => {
    const { ok, value } = await call("GET", `/api/files/file${path}`);
    if (!ok) { say(told(value), { bad: true }); return; }
    const box = $("#conflict"), both = make("div", "", "both");
    for (const [title, text] of [["On the disk now", value.text], ["Yours, not saved", field.value]]) {
      const half = make("div", "", "stack"), shown = make("pre", "", "diff");
      compare(title.startsWith("On") ? field.value : value.text, text).forEach(([line, differs]) => shown.append(make("span", `${line}\n`, differs ? (title.startsWith("On") ? "minus" : "plus") : "")));
      half.append(make("h3", title), shown);
      both.append(half);
    }
    const acts = make("div", "", "cluster");
    acts.append(
      button("Save mine over it", "danger", () => save({ revision: value.revision })),
      button("Take what is on the disk", "", () => show(value)),
      button("Go on editing mine", "", () => { form.dataset.revision = value.revision; saved = value.text; box.hidden = true; note(); field.focus(); }),
    );
    box.replaceChildren(make("h2", "This file was changed meanwhile"), make("p", "Nothing was saved and nothing is lost. Lines that only one of the two has are marked."), both, acts);
    box.hidden = false;
    box.scrollIntoView({ block: "nearest" });
  };

  // Mark the lines of a text that the other text lacks; this suffices to see what somebody changed.
  const compare = (other, text) => {
    const left = new Map();
    for (const each of other.split("\n")) left.set(each, (left.get(each) || 0) + 1);
    return text.split("\n").map((each) => { const count = left.get(each) || 0; left.set(each, count - 1); return [each, count <= 0]; });
  };

  const preview = async () => {
    const { ok, value } = await call("POST", `/api/files/preview${path}`, { text: field.value });
    if (!ok) { say(told(value), { bad: true }); return; }
    const box = $("#preview"), parts = [make("h2", "What saving would change")];
    if (value.changes.length) {
      const list = make("ul", "", "plain");
      for (const each of value.changes) {
        const item = make("li");
        item.append(make("span", each.kind, "tag"), " ");
        if (each.before && each.before !== each.after) item.append(make("del", each.before), " ");
        item.append(make(each.before === each.after ? "span" : "ins", each.after || ""));
        list.append(item);
      }
      parts.push(list);
    } else parts.push(make("p", "No memory.", "soft"));
    for (const [name, lines] of Object.entries(value.files)) {
      const shown = make("pre", "", "diff");
      for (const line of lines.slice(2)) shown.append(make("span", `${line}\n`, { "+": "plus", "-": "minus", "@": "at" }[line[0]] || ""));
      parts.push(make("h3", name, "of"), lines.length ? shown : make("p", "only kept's own comments", "small soft"));
    }
    for (const problem of value.problems) parts.push(make("p", problem, "notice bad"));
    box.replaceChildren(...parts, button("Close", "quiet", () => { box.hidden = true; }));
    box.hidden = false;
    box.scrollIntoView({ block: "nearest" });
  };

  doings["file-save"] = () => save();
  doings["file-preview"] = preview;
  doings["file-revert"] = () => { field.value = saved; $("#conflict").hidden = $("#preview").hidden = true; note(); };

  const fetched = async () => { // after a change: show the new text, unless something was typed
    const { ok, value } = await call("GET", `/api/files/file${path}`);
    if (!ok || value.revision === form.dataset.revision) return;
    if (dirty()) say("The file changed on the disk. Saving will show both texts.", { bad: true });
    else show(value);
  };
  document.addEventListener("kept:done", (event) => { if (event.target.matches("[data-entry]")) fetched(); });
  document.addEventListener("kept:refused", (event) => { if (event.target.matches("[data-entry]")) { fetched(); changed(); } });
  document.body.addEventListener("kept:changed", fetched);
  field.addEventListener("input", note);
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); }
  });
  window.addEventListener("beforeunload", (event) => { if (dirty()) event.preventDefault(); });
  note();
})();
