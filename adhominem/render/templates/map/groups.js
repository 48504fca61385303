// Outlines around the groups that were found by evidence, if there are any.

function hull(places) {
  // From left to right below, and back above (Andrew's monotone chain).
  const sorted = [...places].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (inTurn) => {
    const kept = [];
    for (const place of inTurn) {
      while (kept.length > 1) {
        const [a, b] = kept.slice(-2);
        if ((b[0] - a[0]) * (place[1] - a[1]) - (b[1] - a[1]) * (place[0] - a[0]) > 0) break;
        kept.pop();
      }
      kept.push(place);
    }
    return kept.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}
function drawGroups() {
  scene.groups.replaceChildren();
  legend.forEach(({ color, outlined }, entry) => {
    if (!outlined || (state.authors.size && !state.authors.has(entry))) return;
    const places = points.filter((_, index) => documents[index].entry === entry).map(({ x, y }) => [x, y]);
    const corners = hull(places).map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
    make(scene.groups, "path", { // the broad line is the room around the marks
      d: `M${corners.join("L")}Z`, fill: color, stroke: color, "stroke-width": 22, "stroke-linejoin": "round",
      opacity: 0.13,
    });
  });
}
