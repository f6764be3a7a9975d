// Decisions on a queue. A key decides on the card that is marked at that time. The mark moves on at once; decisions are sent in the
// background, in order, and a card whose decision could not be saved opens again. Several selected cards are one request.
//   data-judge="POST /api/…"   on a button of a card, or its form: makes this decision; data-done is the message, data-act the action
(() => {
  "use strict";
  const { $, $$, acts, anew, call, part, decided, doings, fieldsOf, jobs, make, offer, say, told } = window.kept;
  const queue = [], place = $("#place");
  const cards = () => $$(".rows.review > .row");
  const open = () => cards().filter((each) => !each.matches(".done"));
  const short = (row) => { const text = $(".says", row)?.textContent.trim() || $("textarea", row)?.value || ""; return text.length > 60 ? `${text.slice(0, 60)}…` : text; };

  // ---- the marked card ---------------------------------------------------------------------------------------------------
  const total = Number(place?.dataset.of || 0), shown = open().length;
  const tell = () => {
    if (!place) return;
    const many = total - shown + open().length;
    place.textContent = `${many.toLocaleString("en")} ${many === 1 ? place.dataset.what : place.dataset.more} left`;
  };
  const mark = (row) => { row.focus({ preventScroll: true }); row.scrollIntoView({ block: "nearest" }); };
  const next = (row) => {
    const all = cards(), left = open().filter((each) => each !== row);
    return left.find((each) => all.indexOf(each) > all.indexOf(row)) || left[0] || $("#more") || row;
  };
  document.addEventListener("htmx:after:swap", tell);
  // The card that was marked last is open. Nothing moves while a mouse button is pressed, because the click would miss its target.
  let pressed = false;
  const unfold = () => {
    const row = document.activeElement?.closest(".decide");
    if (row && !pressed) for (const each of $$(".decide")) each.classList.toggle("unfolded", each === row);
  };
  document.addEventListener("focusin", unfold);
  document.addEventListener("pointerdown", () => { pressed = true; }, true);
  for (const ended of ["pointerup", "pointercancel"]) document.addEventListener(ended, () => { setTimeout(() => { pressed = false; unfold(); }); }, true);
  // Restore a queue: its order, the marked card, and the undo of decisions made in this tab.
  const asked = new URLSearchParams(location.search);
  if (place?.dataset.queue && !asked.has("queue")) { asked.set("queue", place.dataset.queue); history.replaceState(null, "", `/review?${asked}`); }
  $("#of")?.addEventListener("change", (event) => location.assign(event.target.value));
  for (const act of acts.all()) for (const id of act.rows) if (document.getElementById(id)?.matches(".done")) decided.set(id, act);
  cards().forEach(offer);
  const last = document.getElementById(sessionStorage.getItem("kept-card"));
  if (last?.matches(".decide:not(.done)")) mark(last); else if (open()[0]) open()[0].focus({ preventScroll: true });
  document.addEventListener("focusin", () => { const row = document.activeElement?.closest(".decide"); if (row) sessionStorage.setItem("kept-card", row.id); });

  // Ask whether the approved memories reach the next sessions, for all of them at once, after they are saved and the files are written.
  const reach = async () => {
    const rows = cards().filter((each) => each.matches(".done") && each.lastElementChild.firstElementChild?.textContent.startsWith("Kept") && !each.dataset.reach);
    if (!rows.length) return;
    for (const each of rows) each.dataset.reach = "asked";
    const found = await part(`/review/reach?${new URLSearchParams(rows.map((each) => ["id", each.id.slice(2)]))}`);
    for (const note of found ? $$("[data-of]", found) : []) {
      const row = document.getElementById(`r-${note.dataset.of}`);
      if (row?.matches(".done")) row.lastElementChild.firstElementChild.append(": ", note);
    }
  };
  let later = 0;  // one question for decisions that follow each other
  document.body.addEventListener("kept:changed", () => { clearTimeout(later); later = setTimeout(reach, 800); });
  reach();

  // ---- saving ------------------------------------------------------------------------------------------------------------
  let saving = false;
  const save = async () => {
    if (saving) return;
    saving = true;
    while (queue.length) {
      const job = queue[0];
      job.sent = true;
      await job.save();
      queue.shift();
    }
    saving = false;
    document.body.dispatchEvent(new CustomEvent("kept:changed"));
  };
  window.addEventListener("pagehide", () => { for (const job of queue.splice(1)) job.send(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  // Show cards as decided, and save the decision. ``request`` is what is sent, ``done`` the message.
  const decide = (rows, request, done) => {
    $$("#said p").forEach((line) => { if (line.textContent.startsWith("Undone")) line.remove(); });  // it is no longer true of the card
    const [method, path, body, revision] = request, act = acts.add("", rows.map((each) => each.id));
    const before = rows.map((row) => [row, [...row.childNodes], row.className]);
    const after = next(rows.at(-1));
    const name = rows.length === 1 ? `“${short(rows[0])}”` : `${rows.length} proposals`;
    for (const row of rows) {
      const says = $(".says", row) || make("p", $("textarea", row)?.value || "", "says"), outcome = make("p", "", "small soft");
      outcome.append(make("span", done));
      row.classList.remove("editing");
      row.classList.add("decide", "done");
      row.tabIndex = 0;
      row.replaceChildren(says, outcome);
      decided.set(row.id, act);
      offer(row);
    }
    mark(after);
    tell();
    const reopen = () => {
      acts.drop(act);
      for (const [row, nodes, kind] of before) { row.replaceChildren(...nodes); row.className = kind; decided.delete(row.id); }
      tell();
    };
    let saved;
    const job = { sent: false, send: () => call(method, path, body, revision) };
    job.save = async () => {
      const { ok, value } = await job.send();
      if (ok) {
        acts.saved(act, value.undo);
        rows.forEach((row, at) => { if (value.undo_each) decided.set(row.id, { id: `${act.id}.${at}`, undo: value.undo_each[at], rows: [row.id] }); });
        for (const problem of value.problems || []) say(problem, { bad: true });
      } else {
        reopen();
        say(`Not ${done.toLowerCase().replace(/:$/, "")}: ${name}. ${told(value)}`, { bad: true });
        await Promise.all(rows.map(anew));
        if (document.activeElement === document.body && next(rows[0])) mark(next(rows[0]));
      }
      saved(ok ? value.undo : "");
      jobs.delete(act.id);
    };
    jobs.set(act.id, {
      saved: new Promise((resolve) => { saved = resolve; }),
      cancel: () => {
        if (job.sent) return false;
        queue.splice(queue.indexOf(job), 1);
        jobs.delete(act.id);
        reopen();
        mark(rows[0]);
        say(`Undone: ${name} – as before`);
        return true;
      },
    });
    queue.push(job);
    if (rows.length > 1) say(`${done} ${name}`, { act });
    if (after.id === "more") say("All that is shown is decided. Enter shows the next.");
    save();
  };

  doings.judge = (button) => {
    const row = button.closest(".row"), { judge, revision, done, body } = button.dataset;
    decide([row], [...judge.split(" "), JSON.parse(body || "{}"), revision], done);
  };
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-judge]");
    if (!form) return;
    event.preventDefault();
    decide([form.closest(".row")], [...form.dataset.judge.split(" "), fieldsOf(form), form.dataset.revision], form.dataset.done);
  });
  doings.decide = (button) => {
    const rows = $$("[data-choose]:checked").map((each) => each.closest(".row"));
    const memories = rows.map((row) => ({ id: $("[data-choose]", row).dataset.choose, revision: $("[data-choose]", row).dataset.revision }));
    decide(rows, ["POST", "/api/several", { act: button.dataset.act, memories }, undefined], button.dataset.done);
    document.dispatchEvent(new CustomEvent("htmx:after:swap"));
  };

  // If no open card is marked, a key shows a message and marks the next open card.
  document.addEventListener("keydown", (event) => {
    const row = document.activeElement?.closest(".rows.review > .row");
    if (row && !row.matches(".done")) return;
    if (!["y", "n", "p", "e", "x"].includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    if ($("dialog[open]") || event.target.matches("select, textarea, input")) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    const other = row ? next(row) : open()[0];
    if (!other || other === row) say("Nothing else is open here. u undoes the last decision.");
    else { mark(other); say(`${row ? "That one was decided already; u undoes it." : "No proposal was marked."} This is the next open one.`); }
  }, true);
})();
