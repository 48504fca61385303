// What is lit in both pictures, and the card that tells of it.

function focus(node) {
  node.focus({ preventScroll: true });
}
function rove(nodes, to) {
  for (const node of nodes) node.setAttribute("tabindex", node === to ? 0 : -1);
  to.focus();
}
function hover(index, anchor = null) {
  state.hovered = index;
  shine();
  show(anchor);
}
const over = (event) => event.target.closest(".point, .leaf");
const enter = (event) => {
  const node = over(event);
  if (node) hover(Number(node.dataset.document), node);
};
const leave = (event) => {
  if (over(event)) hover(null);
};
tree.addEventListener("pointerover", enter);
tree.addEventListener("pointerout", leave);
for (const picture of [map.closest("figure"), tree.closest("figure")]) {
  // Not on the drawings: those that listen to the focus would take it themselves.
  picture.addEventListener("focusin", enter);
  picture.addEventListener("focusout", leave);
  picture.addEventListener("keydown", (event) => {
    const node = over(event);
    if (!node || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    pin(Number(node.dataset.document));
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  state.hovered = null;
  pin(null);
});

function shine() {
  const chosen = current();
  const filtered = state.query || state.authors.size || state.group;
  if (points.length) {
    points.forEach(({ node }, index) => {
      node.setAttribute("opacity", lit(index) || index === chosen ? 1 : 0.13);
      node.setAttribute("aria-pressed", index === state.pinned);
    });
    drawGroups();
    scene.links.replaceChildren();
    if (chosen === null) {
      scene.ring.setAttribute("visibility", "hidden");
    } else {
      const { x, y } = points[chosen];
      for (const [key, value] of Object.entries({ visibility: "visible", cx: x, cy: y }))
        scene.ring.setAttribute(key, value);
      for (const [other, value] of documents[chosen].nearest)
        if (value > 0)
          make(scene.links, "line", { x1: x, y1: y, x2: points[other].x, y2: points[other].y });
    }
    drawNames();
  }
  if (leaves[0]) {
    leaves.forEach(({ node, back, text }, index) => {
      node.setAttribute("opacity", lit(index) || index === chosen ? 1 : 0.25);
      node.setAttribute("aria-pressed", index === state.pinned);
      back.setAttribute("fill", index === chosen ? "#e4e4e4" : "transparent");
      text.setAttribute("font-weight", index === chosen ? 700 : 400);
    });
    branches.forEach(({ line }, at) => {
      const inside = state.group && below[at].every((each) => state.group.has(each));
      line.setAttribute("stroke-width", inside ? 3 : 1.5);
      line.setAttribute("opacity", filtered && !below[at].some(lit) ? 0.25 : 1);
    });
  }
  const count = documents.filter((_, index) => lit(index)).length;
  if (!state.group)
    find("found").textContent = filtered ? `${count} of ${documents.length} documents` : "";
}
function pin(index) {
  state.pinned = index === state.pinned ? null : index;
  shine();
  if (state.pinned !== null && state.hovered === null) show(points[state.pinned].node);
  else if (state.hovered !== null) show(points[state.hovered].node, true);
  else show();
}

const card = find("card");
let beside = null;
function put(anchor) {
  beside = anchor;
  // Beside what it is about, and within the window.
  const box = anchor.getBoundingClientRect ? anchor.getBoundingClientRect() : anchor;
  const { offsetWidth: width, offsetHeight: height } = card;
  let left = box.right + 14;
  if (left + width > window.innerWidth - 8) left = box.left - width - 14;
  const top = Math.min(Math.max(8, box.top - 12), window.innerHeight - height - 8);
  card.style.left = `${Math.max(8, left)}px`;
  card.style.top = `${Math.max(8, top)}px`;
  card.classList.toggle("up", box.top > window.innerHeight / 2); // where the window is narrow
}
function markIn(parent, marker) {
  const mark = make(parent, "svg", { class: "mark", viewBox: "-1.5 -1.5 3 3", "aria-hidden": true });
  drawMarker(mark, marker, 1, { "stroke-width": marker.hollow ? 0.4 : 0 });
}
function show(anchor = null, stay = false) {
  const index = current();
  card.hidden = index === null;
  if (index === null) return;
  const { name, author, words, nearest, group } = documents[index];
  const spot = stay ? { left: card.style.left, top: card.style.top } : null;
  card.replaceChildren();
  card.classList.toggle("pinned", state.pinned === index);
  const close = html(card, "button", "close", "×");
  close.type = "button";
  close.setAttribute("aria-label", "Let go of this document");
  close.addEventListener("click", () => pin(null));
  html(card, "p", "name", name);
  const by = html(card, "p");
  markIn(by, markerOf(index));
  by.append(` ${author || "author not named"}, ${words.toLocaleString("en")} words`);
  if (group) html(card, "p", "", `${group[0].toUpperCase()}${group.slice(1)}.`);
  if (nearest.length) {
    const table = html(card, "table");
    html(table, "caption", "", "Most alike, by log10 Bayes factor");
    const body = html(table, "tbody");
    for (const [other, value] of nearest) {
      const line = html(body, "tr");
      markIn(html(line, "td"), markerOf(other));
      const button = html(html(line, "td"), "button", "", documents[other].name);
      button.type = "button";
      button.tabIndex = state.pinned === index ? 0 : -1;
      button.addEventListener("click", () => {
        state.hovered = null;
        pin(other);
      });
      html(line, "td", "number", signed(value));
    }
  }
  if (spot) Object.assign(card.style, spot);
  else put(anchor ?? points[index].node);
}
function showBranch(at, event) {
  const [, , value, size] = joins[at];
  const authors = new Set(below[at].map((index) => documents[index].author));
  card.hidden = false;
  card.classList.remove("pinned");
  card.replaceChildren();
  html(card, "p", "name", `${size} documents, ${authors.size === 1 ? "1 name" : `${authors.size} names`}`);
  html(card, "p", "", `joined at log10 Bayes factor ${signed(value)}, ${data.joined}`);
  const { clientX: x, clientY: y } = event;
  put({ left: x, right: x, top: y });
}
