// Parallel coordinates: an axis for each column, a line for each run; what is marked on axes chooses runs.

const PARALLEL = { width: 820, height: 310, top: 52, bottom: 24, side: 60 };

/** Lines of runs over the axes of columns, in the colours of colourOf(k); onchoice(inside) gets (runs,) of booleans. */
function parallelCoordinates(columns, runs, best, onchoice) {
  const { make } = emptyPicture();
  const { width, height, top, bottom, side } = PARALLEL;
  const picture = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": columns.map(({ label }) => label).join(", ") });
  const known = columns.map((column) => column.values.filter((value) => typeof value === "number"));
  const ranges = known.map((values) => ticksOf(values));
  const across = (c) => side + (c * (width - 2 * side)) / Math.max(1, columns.length - 1);
  const upwards = (c, value) => height - bottom - ((value - ranges[c].low) / (ranges[c].high - ranges[c].low)) * (height - top - bottom);
  const marked = columns.map(() => null); // values from, to
  const count = element("p", { className: "hint" });
  const lines = Array.from({ length: runs }, (_, k) => {
    const places = columns.flatMap(({ values }, c) => (typeof values[k] === "number" ? [`${across(c)},${upwards(c, values[k])}`] : []));
    const line = make("polyline", { class: k === best ? "run best" : "run", points: places.join(" ") });
    line.append(make("title", {}, `run ${k}`));
    return line;
  });
  picture.append(...lines.filter((_, k) => k !== best), ...(best === null ? [] : [lines[best]]));
  const choose = () => {
    const inside = lines.map((_, k) => marked.every((range, c) => !range || (columns[c].values[k] >= range[0] && columns[c].values[k] <= range[1])));
    lines.forEach((line, k) => line.classList.toggle("outside", !inside[k]));
    const limits = marked.flatMap((range, c) => (range ? [`${columns[c].label} ${shortNumber(range[0], 4)} to ${shortNumber(range[1], 4)}`] : []));
    count.textContent = limits.length ? `${inside.filter(Boolean).length} of ${runs} runs: ${limits.join("; ")}.` : "Drag along an axis to choose runs, click on it to take all.";
    onchoice(inside);
  };
  columns.forEach((column, c) => {
    const x = across(c);
    const inner = c === 0 ? "start" : c === columns.length - 1 ? "end" : "middle";
    picture.append(make("line", { class: "axis", x1: x, x2: x, y1: top, y2: height - bottom }));
    picture.append(make("text", { class: "label", x: c === 0 ? 4 : c === columns.length - 1 ? width - 4 : x, y: c % 2 ? 31 : 14, "text-anchor": inner }, column.label));
    for (const end of ["low", "high"]) picture.append(make("text", { x: x + 5, y: upwards(c, ranges[c][end]) + (end === "low" ? 14 : -3) }, shortNumber(ranges[c][end], 4)));
    const shade = make("rect", { class: "chosen", x: x - 8, width: 16, y: top, height: 0 });
    const handle = make("rect", { class: "handle", x: x - 16, width: 32, y: top, height: height - top - bottom });
    const valueAt = (event) => {
      const place = ((event.clientY - picture.getBoundingClientRect().top) * height) / picture.getBoundingClientRect().height;
      const part = (height - bottom - Math.max(top, Math.min(height - bottom, place))) / (height - top - bottom);
      return ranges[c].low + part * (ranges[c].high - ranges[c].low);
    };
    const show = () => {
      const [from, to] = marked[c] || [0, 0];
      shade.setAttribute("y", marked[c] ? upwards(c, to) : top);
      shade.setAttribute("height", marked[c] ? upwards(c, from) - upwards(c, to) : 0);
      choose();
    };
    let begun = null;
    handle.onpointerdown = (event) => {
      begun = valueAt(event);
      handle.setPointerCapture(event.pointerId);
    };
    handle.onpointermove = (event) => {
      if (begun === null) return;
      const value = valueAt(event);
      marked[c] = [Math.min(begun, value), Math.max(begun, value)];
      show();
    };
    handle.onpointerup = () => {
      const [from, to] = marked[c] || [0, 0];
      if (to - from < 0.01 * (ranges[c].high - ranges[c].low)) marked[c] = null;
      begun = null;
      show();
    };
    picture.append(shade, handle);
  });
  choose();
  return element("div", {}, count, element("div", { className: "chart" }, picture));
}
