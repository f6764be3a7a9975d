// The page anew where the whole file was saved.
(() => {
  "use strict";
  document.addEventListener("kept:done", (event) => {
    if (event.target.id === "whole-file") location.reload();
  });
})();
