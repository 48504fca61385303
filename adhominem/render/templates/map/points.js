// The map: each document a point.

const map = find("map");
const points = [];
const scene = {};
function drawMap() {
  const width = Math.max(260, map.clientWidth || map.getBoundingClientRect().width || 600);
  const height = Math.round(Math.min(Math.max(width * 0.78, 300), window.innerHeight * 0.72, 640));
  Object.assign(scene, { width, height, left: 22, top: 6, right: width - 6, bottom: height - 24 });
  const focused = points.findIndex((each) => each.node === document.activeElement);
  map.replaceChildren();
  map.setAttribute("viewBox", `0 0 ${width} ${height}`);
  map.setAttribute("font-family", "system-ui, sans-serif");
  const { left, top, right, bottom } = scene;
  const box = { x: left, y: top, width: right - left, height: bottom - top };
  make(make(make(map, "defs"), "clipPath", { id: "inside" }), "rect", box);
  make(map, "rect", { ...box, fill: "#fff", stroke: "#bbb" });
  const inside = make(map, "g", { "clip-path": "url(#inside)" });
  scene.cross = make(inside, "path", { fill: "none", stroke: "#ddd" });
  scene.groups = make(inside, "g", { "pointer-events": "none" });
  scene.links = make(inside, "g", { stroke: INK, "stroke-opacity": 0.45 });
  scene.names = make(inside, "g", { "font-size": 11, "pointer-events": "none" });
  scene.points = make(inside, "g");
  scene.ring = make(inside, "circle", {
    r: 10, fill: "none", stroke: INK, "stroke-width": 2.5, "pointer-events": "none",
  });
  const text = { fill: "#555", "font-size": 12, "text-anchor": "middle" };
  scene.x = make(map, "text", { ...text, x: (left + right) / 2, y: height - 7 });
  const middle = (top + bottom) / 2;
  scene.y = make(map, "text", { ...text, x: 14, y: middle, transform: `rotate(-90 14 ${middle})` });
  const size = documents.length > 400 ? 4 : documents.length > 150 ? 4.8 : 5.8;
  points.length = 0;
  documents.forEach((_, index) => {
    const node = make(scene.points, "g", {
      class: "point", role: "button", tabindex: index ? -1 : 0, "data-document": index,
      "aria-label": described(index), "aria-describedby": "card",
    });
    drawMarker(node, markerOf(index), size);
    points.push({ node, x: 0, y: 0 });
  });
  place();
  if (focused >= 0) focus(points[focused].node);
}
function frame() {
  // Where the places lie before the zoom: one scale for both axes, so that distances hold.
  const { places } = projections[state.projection];
  const [xs, ys] = [0, 1].map((axis) => places.map((place) => place[axis]));
  const span = (values) => [Math.min(...values), Math.max(...values)];
  const [[x0, x1], [y0, y1]] = [span(xs), span(ys)];
  const room = 24;
  const width = scene.right - scene.left - 2 * room, height = scene.bottom - scene.top - 2 * room;
  const scale = Math.min(width / (x1 - x0 || 1e-9), height / (y1 - y0 || 1e-9));
  const finite = Number.isFinite(scale) && (x1 > x0 || y1 > y0) ? scale : 1;
  const centre = [(scene.left + scene.right) / 2, (scene.top + scene.bottom) / 2];
  return ([x, y]) => [
    centre[0] + (x - (x0 + x1) / 2) * finite,
    centre[1] - (y - (y0 + y1) / 2) * finite,
  ];
}
function place() {
  const projection = projections[state.projection];
  const { scale, x, y } = state.zoom;
  const framed = frame();
  const at = (where) => {
    const [left, top] = framed(where);
    return [left * scale + x, top * scale + y];
  };
  points.forEach((point, index) => {
    [point.x, point.y] = at(projection.places[index]);
    point.node.setAttribute("transform", `translate(${point.x.toFixed(1)} ${point.y.toFixed(1)})`);
  });
  const [zeroX, zeroY] = at([0, 0]);
  scene.cross.setAttribute(
    "d",
    projection.x
      ? `M${zeroX} ${scene.top}V${scene.bottom}M${scene.left} ${zeroY}H${scene.right}`
      : "",
  );
  scene.x.textContent = projection.x;
  scene.y.textContent = projection.y;
  map.classList.toggle("zoomed", scale > 1.001);
  shine();
}
function drawNames() {
  // Names that would hide another are left out; closer by, there is more room.
  scene.names.replaceChildren();
  if (!state.names) return;
  const visible = points.filter((_, index) => lit(index));
  const taken = visible.map(({ x, y }) => [x - 6, y - 6, x + 6, y + 6]);
  const first = current();
  const inTurn = [...points.keys()].sort((a, b) => (b === first) - (a === first));
  for (const index of inTurn) {
    const { x, y } = points[index];
    if (!lit(index) || x < scene.left || x > scene.right || y < scene.top || y > scene.bottom)
      continue;
    const text = fit(documents[index].label, 11, 190);
    const width = pen.measureText(text).width;
    const boxes = [[x + 9, y], [x - 9 - width, y], [x - width / 2, y - 15], [x - width / 2, y + 15]]
      .map(([left, line]) => [left, line - 7, left + width, line + 7])
      .filter(([a, b, c, d]) =>
        a > scene.left && c < scene.right && b > scene.top && d < scene.bottom &&
        !taken.some((box) => box[0] < c && a < box[2] && box[1] < d && b < box[3]));
    if (!boxes.length) continue;
    taken.push(boxes[0]);
    const [left, upper] = boxes[0];
    make(scene.names, "text", {
      x: left.toFixed(1), y: (upper + 11).toFixed(1), fill: markerOf(index).ink,
      stroke: "#fff", "stroke-width": 3, "paint-order": "stroke", "stroke-linejoin": "round",
    }, text);
  }
}
function zoom(factor, x, y) {
  const { zoom: before } = state;
  const scale = Math.min(60, Math.max(1, before.scale * factor));
  const by = scale / before.scale;
  state.zoom = { scale, x: x - (x - before.x) * by, y: y - (y - before.y) * by };
  hold();
  place();
}
function hold() {
  // The map cannot be lost: its middle stays within what it covers.
  const { zoom: now } = state;
  const { left, right, top, bottom } = scene;
  now.x = Math.min(left - left * now.scale, Math.max(right - right * now.scale, now.x));
  now.y = Math.min(top - top * now.scale, Math.max(bottom - bottom * now.scale, now.y));
}
function inMap(event) {
  const box = map.getBoundingClientRect();
  const unit = scene.width / box.width;
  return [(event.clientX - box.left) * unit, (event.clientY - box.top) * unit];
}

function nearestTo([x, y], reach) {
  // Not the mark on top: where several overlap, the one whose middle is nearest.
  let best = null, least = reach;
  points.forEach((point, index) => {
    const away = Math.hypot(point.x - x, point.y - y) + (lit(index) ? 0 : reach / 2);
    if (away < least) [best, least] = [index, away];
  });
  return best;
}
const reach = (event) => (event.pointerType === "touch" ? 26 : 14);
map.addEventListener("pointermove", (event) => {
  if (held.size) return;
  const index = nearestTo(inMap(event), reach(event));
  map.classList.toggle("over", index !== null);
  if (index !== state.hovered) hover(index, index === null ? null : points[index].node);
});
map.addEventListener("pointerleave", () => {
  if (state.hovered !== null && !held.size) hover(null);
});

const held = new Map(); // pointers on the map
let moved = false;
map.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus where it is
map.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  held.set(event.pointerId, inMap(event));
  moved = false;
});
map.addEventListener("pointermove", (event) => {
  if (!held.has(event.pointerId)) return;
  const [oldX, oldY] = held.get(event.pointerId);
  const [x, y] = inMap(event);
  if (held.size === 1) {
    if (!moved && Math.hypot(x - oldX, y - oldY) < 4) return;
    if (!moved) map.setPointerCapture(event.pointerId);
    state.zoom.x += x - oldX;
    state.zoom.y += y - oldY;
    hold();
    place();
  } else {
    const [other] = [...held].filter(([id]) => id !== event.pointerId).map(([, where]) => where);
    const before = Math.hypot(oldX - other[0], oldY - other[1]);
    const now = Math.hypot(x - other[0], y - other[1]);
    if (before > 0) zoom(now / before, (x + other[0]) / 2, (y + other[1]) / 2);
  }
  moved = true;
  map.classList.add("held");
  held.set(event.pointerId, [x, y]);
});
for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
  map.addEventListener(end, (event) => {
    held.delete(event.pointerId);
    if (!held.size) map.classList.remove("held");
  });
map.addEventListener("wheel", (event) => {
  if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
  event.preventDefault();
  zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.004)), ...inMap(event));
}, { passive: false });
map.addEventListener("dblclick", (event) => zoom(2, ...inMap(event)));
const middle = () => [(scene.left + scene.right) / 2, (scene.top + scene.bottom) / 2];
find("closer").addEventListener("click", () => zoom(1.5, ...middle()));
find("farther").addEventListener("click", () => zoom(1 / 1.5, ...middle()));
find("whole").addEventListener("click", () => zoom(0, ...middle()));
map.addEventListener("click", (event) => {
  if (!moved) pin(nearestTo(inMap(event), reach(event)));
});
map.addEventListener("keydown", (event) => {
  const node = event.target.closest(".point");
  if (!node) return;
  const from = points[Number(node.dataset.document)];
  const ways = {
    ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
  };
  if (event.key === "+" || event.key === "-") {
    zoom(event.key === "+" ? 1.5 : 1 / 1.5, from.x, from.y);
  } else if (ways[event.key]) {
    const [right, down] = ways[event.key];
    let best = null, least = Infinity;
    for (const to of points) {
      const along = (to.x - from.x) * right + (to.y - from.y) * down;
      const aside = Math.abs((to.x - from.x) * down) + Math.abs((to.y - from.y) * right);
      if (to !== from && along > 0 && along + 2 * aside < least)
        [best, least] = [to, along + 2 * aside];
    }
    if (best) rove(points.map((each) => each.node), best.node);
  } else return;
  event.preventDefault();
});
