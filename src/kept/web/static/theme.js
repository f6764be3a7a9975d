// Before the first paint: apply the chosen colours and row density, and remove the key from the address.
(() => {
  "use strict";
  const chosen = localStorage.getItem("kept-theme");
  document.documentElement.dataset.rows = localStorage.getItem("kept-rows") || "";
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  if (/^#[\w-]{43}$/.test(location.hash) && !document.documentElement.hasAttribute("data-locked")) {
    history.replaceState(history.state, "", location.pathname + location.search);
  }
})();
