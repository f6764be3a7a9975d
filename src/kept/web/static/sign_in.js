// The key stands after # in the address the terminal told: it never went over the wire. It is shown once, and a cookie comes back.
(() => {
  "use strict";
  const key = location.hash.slice(1);
  const tell = (text) => { document.getElementById("told").textContent = text; };
  if (!key) return;
  sessionStorage.removeItem("kept-acts");  // what an earlier start could undo
  history.replaceState(null, "", location.pathname + location.search);
  tell("Signing in …");
  fetch("/api/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key }) })
    .then((answer) => answer.ok ? location.reload() : tell("That address is of an earlier start. Open the one the terminal told last."))
    .catch(() => tell("kept web does not answer. Is it still running?"));
})();
