"use strict";
// One listener for each type of event, on the document: heat maps may come and go.
(() => {
  const nextKeys = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const tip = document.createElement("div");
  tip.className = "explanation-tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  let focused = null; // the passage that the keyboard is at, while its tip is shown

  const target = (event) => (event.target instanceof Element ? event.target : null);
  const viewOf = (root) => root?.querySelector("fieldset :checked")?.value ?? "attention";

  // The browser's own tip is for pages without this script: two of them are one too many.
  function take(element) {
    if (element?.hasAttribute("title")) {
      element.dataset.tip = element.title;
      element.removeAttribute("title");
    }
    return element?.dataset.tip ?? "";
  }

  function said(element) {
    const passage = element.closest(".passage");
    const root = element.closest(".explanation");
    const view = viewOf(root);
    const token = element.closest(".passage span");
    const ofPassage = take(passage);
    const ofToken = take(token);
    if (view === "plain") return "";
    if (view === "ngrams") {
      const numbers = element.closest("mark")?.dataset.n.split(" ") ?? [];
      const rows = numbers.map((number) => root.querySelector(`tr[data-ngram="${number}"]`));
      return rows.map((row) => row?.dataset.said ?? "").join("\n");
    }
    return [view === "attention" ? ofToken : "", ofPassage].filter(Boolean).join("\n");
  }

  function show(element, x, y) {
    const text = element.closest(".heat") ? said(element) : "";
    tip.hidden = !text;
    if (!text) return;
    if (!tip.isConnected) document.body.append(tip);
    if (tip.textContent !== text) tip.textContent = text;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(x + 12, innerWidth - width - 8));
    const below = y + 20 + height < innerHeight;
    tip.style.left = `${left}px`;
    tip.style.top = `${below ? y + 20 : Math.max(8, y - height - 12)}px`;
  }

  function hide() {
    tip.hidden = true;
    focused = null;
  }

  function showFocused() {
    if (!focused) return hide();
    const first = focused.getClientRects()[0] ?? focused.getBoundingClientRect();
    show(focused, first.left, first.bottom);
  }

  function focusPassage(from, key) {
    const all = [...from.closest(".heat").querySelectorAll(".passage:not(.more)")];
    const at = { Home: 0, End: all.length - 1 }[key] ?? all.indexOf(from) + nextKeys[key];
    const to = all[at];
    if (!to) return;
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }

  function choose(root, number) {
    const row = root.querySelector(`tr[data-ngram="${number}"]`);
    const again = row?.classList.contains("chosen");
    for (const each of root.querySelectorAll(".chosen, .current")) {
      each.classList.remove("chosen", "current");
    }
    const bar = root.querySelector(".places");
    bar.hidden = !row || again;
    if (bar.hidden) return;
    row.classList.add("chosen");
    bar.dataset.ngram = number;
    bar.dataset.at = -1;
    for (const each of root.querySelectorAll(`mark[data-n~="${number}"]`)) {
      each.classList.add("chosen");
    }
    step(root, 1);
  }

  function step(root, by) {
    const bar = root.querySelector(".places");
    const first = (mark) => mark.matches(`[data-from~="${bar.dataset.ngram}"]`);
    const marks = [...root.querySelectorAll("mark.chosen")];
    const places = marks.filter(first);
    if (!places.length) return;
    const at = (Number(bar.dataset.at) + by + places.length) % places.length;
    bar.dataset.at = at;
    for (const each of root.querySelectorAll(".current")) each.classList.remove("current");
    // A place that lies in several tokens has several marks.
    const start = marks.indexOf(places[at]);
    const after = marks.findIndex((mark, order) => order > start && first(mark));
    for (const each of marks.slice(start, after < 0 ? undefined : after)) {
      each.classList.add("current");
    }
    const gram = root.querySelector("tr.chosen .gram")?.textContent ?? "";
    bar.querySelector("output").textContent = `“${gram}”: place ${at + 1} of ${places.length}`;
    places[at].scrollIntoView({ block: "center" });
  }

  document.addEventListener("pointerover", (event) => {
    const element = target(event);
    focused = null;
    if (element) show(element, event.clientX, event.clientY);
  });
  document.addEventListener("focusin", (event) => {
    const element = target(event);
    focused = element?.matches(".heat .passage:focus-visible") ? element : null;
    showFocused();
  });
  document.addEventListener("change", hide);
  document.addEventListener("scroll", showFocused, { passive: true, capture: true });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const passage = target(event)?.closest(".heat .passage");
    if (passage && (event.key in nextKeys || event.key === "Home" || event.key === "End")) {
      event.preventDefault();
      focusPassage(passage, event.key);
    }
  });
  document.addEventListener("click", (event) => {
    const element = target(event);
    const root = element?.closest(".explanation");
    if (!root) return;
    const row = element.closest("tr[data-ngram]");
    const button = element.closest(".places button");
    if (row) choose(root, row.dataset.ngram);
    else if (button?.value === "0") choose(root, "");
    else if (button) step(root, Number(button.value));
    else show(element, event.clientX, event.clientY); // by touch, there is no hovering
  });
})();
