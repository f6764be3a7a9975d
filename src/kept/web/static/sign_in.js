// The key is the part after # of the address that the terminal printed, which browsers do not send. It is exchanged once for a cookie.
(() => {
  "use strict";
  const key = location.hash.slice(1);
  const tell = (text) => { document.getElementById("told").textContent = text; };
  if (!key) return;
  sessionStorage.removeItem("kept-acts");  // the acts of an earlier `kept web`
  history.replaceState(null, "", location.pathname + location.search);
  tell("Signing in …");
  fetch("/api/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key }) })
    .then((answer) => answer.ok ? location.reload() : tell("That address is of an earlier start. Open the one the terminal told last."))
    .catch(() => tell("kept web does not answer. Is it still running?"));
})();
