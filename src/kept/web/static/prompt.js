// The prompt editor: save by key, and resolve conflicts with other changes. Typed text is never lost.
(() => {
  "use strict";
  const { $, make, call } = window.kept;
  const form = $("#prompt-form");
  if (!form) return;
  const field = $("#text"), before = field.defaultValue.replace(/\r\n?/g, "\n");
  let going = false;

  form.addEventListener("kept:refused", async (event) => {
    if (event.detail.status !== 412) return;
    const { ok, value } = await call("GET", form.dataset.send.split(" ")[1]);
    if (!ok) return;
    const box = $("#conflict"), acts = make("div", "", "cluster");
    const button = (text, kind, act) => {
      const made = make("button", text, kind);
      made.type = "button";
      made.addEventListener("click", act);
      acts.append(made);
    };
    button("Save mine over it", "danger", () => { form.dataset.revision = value.revision; form.requestSubmit(); });
    button("Take that text instead", "", () => { field.value = value.text; form.dataset.revision = value.revision; box.hidden = true; });
    box.replaceChildren(make("h2", "The prompt was changed meanwhile"), make("p", "Nothing was saved; yours is still in the field. This is what is in force now:"), make("pre", value.text, "wrapped"), acts);
    box.hidden = false;
    box.scrollIntoView({ block: "nearest" });
  });

  form.addEventListener("submit", () => { going = true; });
  form.addEventListener("kept:refused", () => { going = false; });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); form.requestSubmit(); }
  });
  window.addEventListener("beforeunload", (event) => { if (!going && field.value !== before) event.preventDefault(); });
})();
