// Settings: search while typing, save each group at once, undo a save; the file below is reloaded after each change.
(() => {
  "use strict";
  const { $, $$, acts, anew, call, doings, jobs, say, told } = window.kept;
  const controls = (form) => $$("[data-setting]", form);
  const field = (control) => $("[name=value]", control);
  const value = (element) => element.type === "checkbox" ? element.checked : element.type === "number" ? Number(element.value) : element.value;
  const was = (element) => element.type === "checkbox" ? element.defaultChecked : element.matches("select") ? ($("option[selected]", element) || element.options[0]).value : element.type === "number" ? Number(element.defaultValue) : element.defaultValue;
  const changed = (control) => value(field(control)) !== was(field(control));

  const put = async (control, wanted, revision) => {
    const name = control.dataset.setting;
    const answer = await call("PUT", `/api/settings/${encodeURIComponent(name)}`, { value: wanted }, revision);
    const problem = $("[role=alert]", control);
    problem.hidden = answer.ok;
    problem.textContent = answer.ok ? "" : told(answer.value);
    if (!answer.ok) say(`${name} is not saved: ${told(answer.value)}`, { bad: true });
    if (answer.status === 412) await anew(control.closest("[data-row]"));
    return answer.ok;
  };
  const fresh = async () => {
    document.body.dispatchEvent(new CustomEvent("kept:changed"));
    const file = $("#file"), text = $("#text");
    if (!file || !text) return;
    if (text.value === text.defaultValue) await anew(file);
    else say("The file below was changed by that; what you have typed into it is still there. Copy it before you load the page again.");
  };
  const save = async (wanted, done, undoing = false) => {  // [control, value][]
    const saved = [];
    for (const [control, each] of wanted) {
      const before = "given" in control.dataset ? was(field(control)) : null;  // null: the default
      if (await put(control, each, control.dataset.revision)) saved.push([control.dataset.setting, control.closest("[data-row]"), before]);
    }
    const rows = [];
    for (const [name, row, before] of saved) rows.push([name, await anew(row), before]);
    if (!saved.length) return;
    const names = saved.map(([name]) => name).join(", "), act = undoing ? null : acts.add();
    say(`${done} ${names}`, { act });
    await fresh();
    if (!act) return;
    acts.saved(act, "settings");
    jobs.set(act.id, { cancel: () => {
      save(rows.map(([name, , before]) => [$(`[data-setting="${CSS.escape(name)}"]`), before]), "Undone:", true);
      return true;
    } });
  };

  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-settings]");
    if (form) $(".save button", form).disabled = !controls(form).some(changed);
  });
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-settings]");
    if (!form) return;
    event.preventDefault();
    const button = $(".save button", form);
    button.disabled = true;
    await save(controls(form).filter(changed).map((each) => [each, value(field(each))]), "Saved");
    button.disabled = !controls(form).some(changed);
  });
  doings.default = (button) => save([[button.closest("[data-setting]"), null]], "Default again:");
  doings.copy = async (button) => {
    await navigator.clipboard.writeText($("code", button.parentElement).textContent);
    say("Copied.");
  };

  $("#find")?.addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const each of $$(".setting")) each.hidden = !words.every((word) => each.textContent.toLowerCase().includes(word));
    for (const each of $$("details.locked")) { each.hidden = !$(".setting:not([hidden])", each); each.open = words.length > 0 && !each.hidden; }
    for (const each of $$("section.group")) each.hidden = words.length > 0 && !$(".setting:not([hidden])", each);
    $("#no-setting").hidden = $$("section.group").some((each) => !each.hidden);
  });
  document.addEventListener("kept:done", (event) => {
    if (event.target.id === "whole-file" || event.target.closest("#model-card")) location.reload();
    else fresh();
  });
})();
