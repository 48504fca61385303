"use strict";
// Before anything is drawn: that there is a script, and which colours were chosen here. The choice is kept in this browser;
// until one is made, nothing is.
(() => {
  const KEY = "adhominem-theme";
  const root = document.documentElement;
  root.classList.add("scripted");
  let kept = null;
  try {
    kept = localStorage.getItem(KEY);
  } catch {
    // a browser that keeps nothing
  }
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

  addEventListener("DOMContentLoaded", () => {
    // On a phone the tabs do not all fit: this one is seen. Not by `scrollIntoView`, after which the Tab key would go on from there.
    const tab = document.querySelector(".tabs [aria-current]");
    if (tab) {
      const [seen, all] = [tab.getBoundingClientRect(), tab.parentElement.getBoundingClientRect()];
      tab.parentElement.scrollLeft += seen.left + seen.width / 2 - all.left - all.width / 2;
    }
    const button = document.getElementById("theme");
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    show();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      show();
      try {
        localStorage.setItem(KEY, root.dataset.theme);
      } catch {
        // then it is for this page alone
      }
    });
  });
})();
