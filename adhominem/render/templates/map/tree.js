// The tree: each document a leaf.

const tree = find("tree"), axis = find("axis");
const leaves = new Array(documents.length), branches = [];
const below = []; // of each join, the documents in it
joins.forEach(([first, second], at) => {
  const under = (group) => (group < documents.length ? [group] : below[group - documents.length]);
  below[at] = [...under(first), ...under(second)];
});
function drawTree() {
  const width = Math.max(260, tree.clientWidth || tree.getBoundingClientRect().width || 500);
  const count = documents.length;
  const row = count > 400 ? 13 : 17, font = count > 400 ? 10 : 12;
  const head = 42, foot = 6, height = count * row + foot;
  const focused = leaves.findIndex((each) => each && each.node === document.activeElement);
  pen.font = `${font}px system-ui, sans-serif`;
  const widest = Math.max(...documents.map(({ label }) => pen.measureText(label).width));
  const labels = Math.min(widest + 26, width * 0.44), right = width - 12;
  const values = joins.map((join) => join[2]);
  const high = Math.max(0, ...values), low = Math.min(0, ...values);
  const margin = Math.max(0.06 * (high - low), 0.05);
  const x = (value) =>
    labels + 6 + ((high + margin - value) / (high - low + 2 * margin)) * (right - labels - 6);
  for (const [node, tall] of [[axis, head], [tree, height]]) {
    node.replaceChildren();
    node.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    node.setAttribute("font-family", "system-ui, sans-serif");
  }

  // The axis, in log10 Bayes factors, which fall to the right.
  const least = ((high - low + 2 * margin) * 46) / (right - labels);
  const step = [0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100].find((each) => each >= least) ?? 200;
  const small = { "font-size": 11, fill: "#555" };
  make(axis, "text", { ...small, x: 0, y: 11 }, "log10 Bayes factor");
  const zero = x(0);
  if (zero - labels > 64)
    make(axis, "text", { ...small, x: zero - 8, y: 11, "text-anchor": "end" }, "◂ one author");
  const other = right - zero > 110 ? "different authors ▸" : "different ▸";
  if (right - zero > 64) make(axis, "text", { ...small, x: zero + 8, y: 11 }, other);
  for (let tick = Math.ceil(low / step); tick <= Math.floor((high + margin) / step); tick++) {
    const where = x(tick * step);
    const line = { x1: where, x2: where, stroke: tick ? "#ddd" : GREY };
    if (!tick) line["stroke-dasharray"] = "4 3";
    make(axis, "line", { ...line, y1: tick ? 33 : 2, y2: head });
    make(tree, "line", { ...line, y1: 0, y2: height });
    const label = tick ? `${tick > 0 ? "+" : "−"}${+Math.abs(tick * step).toFixed(2)}` : "0";
    const paper = { stroke: "#fff", "stroke-width": 4, "paint-order": "stroke" };
    make(axis, "text", { ...small, ...paper, x: where, y: 29, "text-anchor": "middle" }, label);
  }

  const ys = new Array(count + joins.length), xs = new Array(count + joins.length);
  const common = new Array(count + joins.length); // the line of the legend that all documents in it share, if they do
  order.forEach((index, at) => {
    ys[index] = at * row + row / 2;
    xs[index] = labels + 4;
    common[index] = legend[documents[index].entry].known ? documents[index].entry : null;
  });
  const lines = make(tree, "g", { fill: "none" });
  branches.length = 0;
  joins.forEach(([first, second, value], at) => {
    const group = count + at;
    ys[group] = (ys[first] + ys[second]) / 2;
    xs[group] = x(value);
    common[group] = common[first] === common[second] ? common[first] : null;
    const d = `M${xs[first]} ${ys[first]}H${xs[group]}V${ys[second]}H${xs[second]}`;
    const shared = common[group] === null ? null : legend[common[group]];
    const line = make(lines, "path", {
      d, stroke: shared ? shared.color : "#8a8a8a", "stroke-width": 1.5,
    });
    const hit = make(lines, "path", {
      d, stroke: "transparent", "stroke-width": 9, class: "branch", "data-join": at,
    });
    branches.push({ line, hit });
  });
  if (joins.length) {
    const last = count + joins.length - 1;
    make(lines, "path", { d: `M${xs[last]} ${ys[last]}H${width - 4}`, stroke: "#8a8a8a" });
  }

  const names = make(tree, "g", { "font-size": font });
  order.forEach((index, at) => {
    const y = at * row;
    const node = make(names, "g", {
      class: "leaf", role: "button", tabindex: at ? -1 : 0, "data-document": index,
      "aria-label": described(index), "aria-describedby": "card",
    });
    const back = make(node, "rect", {
      x: 0, y, width: labels + 4, height: row, rx: 3, fill: "transparent",
    });
    const marker = markerOf(index);
    const mark = make(node, "g", { transform: `translate(${labels - 3} ${y + row / 2})` });
    drawMarker(mark, marker, row > 14 ? 4.4 : 3.6);
    const { label, short } = documents[index];
    const room = labels - 16;
    const text = make(node, "text", {
      x: labels - 12, y: y + row / 2 + font * 0.36, fill: marker.ink, "text-anchor": "end",
    }, fit(label, font, Infinity) === fit(label, font, room) ? label : fit(short, font, room));
    leaves[index] = { node, back, text };
  });
  shine();
  if (focused >= 0) focus(leaves[focused].node);
}
tree.addEventListener("click", (event) => {
  const node = event.target.closest(".leaf");
  pin(node ? Number(node.dataset.document) : null);
});
tree.addEventListener("keydown", (event) => {
  const node = event.target.closest(".leaf");
  if (!node) return;
  const at = order.indexOf(Number(node.dataset.document)), last = order.length - 1;
  const next = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: last }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  const nodes = leaves.map((each) => each.node);
  rove(nodes, leaves[order[Math.min(last, Math.max(0, next))]].node);
});
tree.addEventListener("pointerover", (event) => {
  const node = event.target.closest(".branch");
  if (!node) return;
  const at = Number(node.dataset.join);
  state.group = new Set(below[at]);
  shine();
  showBranch(at, event);
});
tree.addEventListener("pointerout", (event) => {
  if (!event.target.closest(".branch")) return;
  state.group = null;
  shine();
  show();
});
