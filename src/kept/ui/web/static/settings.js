// What the trial of the model came to, beside its button; and the page anew where the whole file was saved.
(() => {
  "use strict";
  document.addEventListener("kept:done", (event) => {
    if (event.target.id === "whole-file") location.reload();
    if (event.target.id !== "trial") return;
    const { well, told, seconds, tokens, cost } = event.detail, tried = document.getElementById("tried");
    const price = cost === null ? "price unknown" : `${cost.toFixed(4)} USD`;
    tried.textContent = well ? `It answered “${told}” in ${seconds} s (${tokens} tokens, ${price}).` : `It did not answer: ${told}`;
    tried.className = well ? "small good" : "small bad";
  });
})();
