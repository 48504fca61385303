// Legend, search, projections, saving, and the first drawing.

for (const button of document.querySelectorAll("[data-marker]"))
  button.addEventListener("click", () => {
    const marker = Number(button.dataset.marker);
    if (!state.authors.delete(marker)) state.authors.add(marker);
    button.setAttribute("aria-pressed", state.authors.has(marker));
    find("clear").hidden = !state.authors.size;
    shine();
  });
find("clear").addEventListener("click", () => {
  state.authors.clear();
  for (const button of document.querySelectorAll("[data-marker]"))
    button.setAttribute("aria-pressed", false);
  find("clear").hidden = true;
  shine();
});
find("search").addEventListener("input", (event) => {
  state.query = event.target.value.trim().toLowerCase();
  shine();
});
state.names = find("names").checked = documents.length <= 80 && window.innerWidth > 640;
find("names").addEventListener("change", (event) => {
  state.names = event.target.checked;
  shine();
});
const choices = [...document.querySelectorAll("[data-projection]")];
for (const button of choices)
  button.addEventListener("click", () => {
    state.projection = Number(button.dataset.projection);
    state.zoom = { scale: 1, x: 0, y: 0 };
    for (const each of choices) each.setAttribute("aria-pressed", each === button);
    find("caption").textContent = projections[state.projection].caption;
    place();
  });

function whole(...pictures) {
  // The pictures below each other as one that stands on its own.
  const joined = make(null, "svg", { xmlns: SVG });
  let tall = 0, wide = 0;
  for (const picture of pictures) {
    const copy = picture.cloneNode(true);
    const [, , width, height] = copy.getAttribute("viewBox").split(" ").map(Number);
    for (const [key, value] of Object.entries({ y: tall, width, height }))
      copy.setAttribute(key, value);
    copy.removeAttribute("id");
    joined.append(copy);
    [tall, wide] = [tall + height, Math.max(wide, width)];
  }
  joined.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
  joined.setAttribute("width", wide);
  joined.setAttribute("height", tall);
  return { text: new XMLSerializer().serializeToString(joined), wide, tall };
}
function download(name, blob) {
  const link = html(null, "a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function save(name, kind, ...pictures) {
  const { text, wide, tall } = whole(...pictures);
  if (kind === "svg") {
    download(`${name}.svg`, new Blob([text], { type: "image/svg+xml" }));
    return;
  }
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = html(null, "canvas");
    // Twice as fine as on the screen; browsers draw nothing that is larger than this.
    const scale = Math.min(2, 16000 / tall, 16000 / wide);
    [canvas.width, canvas.height] = [wide * scale, tall * scale];
    const ink = canvas.getContext("2d");
    ink.fillStyle = "#fff";
    ink.fillRect(0, 0, canvas.width, canvas.height);
    ink.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => download(`${name}.png`, blob), "image/png");
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}
for (const kind of ["svg", "png"]) {
  find(`save-map-${kind}`).addEventListener("click", () =>
    save(projections[state.projection].name.toLowerCase(), kind, map));
  find(`save-tree-${kind}`).addEventListener("click", () => save("tree", kind, axis, tree));
}

function drawAll() {
  drawMap();
  drawTree();
}
find("unscripted").remove();
let size = 0;
new ResizeObserver(() => {
  if (find("pictures").clientWidth === size) return;
  size = find("pictures").clientWidth;
  drawAll();
  show();
}).observe(find("pictures"));
window.addEventListener("beforeprint", () => {
  [state.hovered, state.group] = [null, null];
  shine();
  show();
});
const follow = () => {
  if (!card.hidden && beside && beside.isConnected) put(beside);
};
window.addEventListener("scroll", follow, { passive: true });
