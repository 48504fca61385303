// What all pictures share: the data, the state, and how things are made and measured.

const SVG = "http://www.w3.org/2000/svg";
const INK = "#1a1a1a", GREY = "#757575";
const data = JSON.parse(document.getElementById("data").textContent);
const { documents, markers, legend, joins, order, projections } = data;
const find = (id) => document.getElementById(id);
const state = {
  projection: 0,
  zoom: { scale: 1, x: 0, y: 0 },
  names: false,
  authors: new Set(), // lines that are chosen in the legend, be they of groups
  query: "",
  pinned: null, // a document, until it is let go
  hovered: null, // a document that the pointer or the focus is on
  group: null, // the documents below the branch that the pointer is on
};

function make(parent, tag, attributes = {}, text = null) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}
function html(parent, tag, className = "", text = null) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== null) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}
const signed = (value) =>
  (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
const markerOf = (index) => markers[documents[index].marker];
function drawMarker(parent, marker, size, attributes = {}) {
  return make(parent, "path", {
    d: marker.path,
    transform: `scale(${size})`,
    fill: marker.hollow ? "#fff" : marker.color,
    stroke: marker.hollow ? marker.color : "#fff",
    "stroke-width": (marker.hollow ? 1.4 : 0.8) / size,
    ...attributes,
  });
}
const pen = document.createElement("canvas").getContext("2d");
function fit(text, size, width) {
  // Of a long name its beginning and its end.
  pen.font = `${size}px system-ui, sans-serif`;
  const line = text.replace(/\s+/g, " ");
  if (pen.measureText(line).width <= width) return line;
  const letters = Array.from(line);
  let low = 1, high = letters.length;
  const cut = (kept) =>
    letters.slice(0, Math.ceil(kept / 2)).join("") + "…" +
    letters.slice(letters.length - Math.floor(kept / 2)).join("");
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (pen.measureText(cut(middle)).width <= width) low = middle;
    else high = middle;
  }
  return cut(low);
}
function described(index) {
  const { name, author } = documents[index];
  return `${name}, ${author || "author not named"}`;
}

// Which documents are lit: those of the branch, or what legend and search leave.
function lit(index) {
  if (state.group) return state.group.has(index);
  const { name, author, entry } = documents[index];
  if (state.authors.size && !state.authors.has(entry)) return false;
  return !state.query || `${name}\n${author}`.toLowerCase().includes(state.query);
}
const current = () => state.hovered ?? state.pinned;
