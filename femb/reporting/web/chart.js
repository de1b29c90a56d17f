// A chart of points, of which the columns across and up are chosen: static paths and runs of studies.

const CHART = { width: 640, height: 300, left: 72, right: 16, top: 12, bottom: 44 };

/** Columns are {label, values, walls}, walls: limits, drawn as lines. Options: joined, points in their order by a line;
 * onpoint(k), a click on point k; coloured, columns of which one may colour the points; best, the number of the point that
 * is a star. The element's ``choose(inside)`` fades the points that are not inside. */
function chart(across, up, { coloured = [], ...options }) {
  const place = element("div", { className: "chart" });
  const list = (columns) => element("select", { onchange: () => draw() }, columns.map((each, k) => new Option(each.label, String(k))));
  const [first, second, third] = [list(across), list(up), list([{ label: "none" }, ...coloured])];
  let inside = null;
  const draw = () => {
    const [x, y] = [across[Number(first.value)], up[Number(second.value)]];
    const colour = coloured[Number(third.value) - 1] || null;
    place.replaceChildren(chartPicture(x, y, { ...options, colour, inside }), ...(colour ? [pointLegend(colour)] : []));
  };
  draw();
  const lists = [labelled("up", second), labelled("across", first), ...(coloured.length ? [labelled("colour", third)] : [])];
  const made = element("div", {}, element("div", { className: "options" }, lists), place);
  made.choose = (chosen) => {
    inside = chosen;
    draw();
  };
  return made;
}

/** The colour of a value between the least and the largest of a column. */
function pointColour({ values }) {
  const known = values.filter((value) => typeof value === "number");
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return (value) => {
    if (typeof value !== "number") return "#999";
    const place = high > low ? ((value - low) / (high - low)) * (VIRIDIS.length - 1) : 0;
    const k = Math.min(Math.floor(place), VIRIDIS.length - 2);
    return `color-mix(in srgb, ${VIRIDIS[k + 1]} ${Math.round(100 * (place - k))}%, ${VIRIDIS[k]})`;
  };
}

function pointLegend({ label, values }) {
  const known = values.filter((value) => typeof value === "number");
  const bar = element("div", { className: "bar" });
  bar.style.background = `linear-gradient(to right, ${VIRIDIS.join(", ")})`;
  const ends = [Math.min(...known), Math.max(...known)].map((value) => element("span", {}, shortNumber(value, 4)));
  return element("div", { className: "legend beside-chart" }, element("div", { className: "legend-title" }, label), bar, element("div", { className: "legend-labels" }, ends));
}

/** An empty picture, and a function that makes parts of it. */
function emptyPicture() {
  const make = (tag, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  };
  return { picture: make("svg", { viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: "img" }), make };
}

/** Draws axes with ticks and labels; the functions from values to places. */
function drawAxes(picture, make, xs, ys, xlabel, ylabel) {
  const { width, height, left, right, top, bottom } = CHART;
  const across = (value) => left + ((value - xs.low) / (xs.high - xs.low)) * (width - left - right);
  const upwards = (value) => height - bottom - ((value - ys.low) / (ys.high - ys.low)) * (height - top - bottom);
  for (const tick of xs.ticks) {
    picture.append(make("line", { class: "grid", x1: across(tick), x2: across(tick), y1: top, y2: height - bottom }));
    picture.append(make("text", { x: across(tick), y: height - bottom + 16, "text-anchor": "middle" }, shortNumber(tick, 4)));
  }
  for (const tick of ys.ticks) {
    picture.append(make("line", { class: "grid", x1: left, x2: width - right, y1: upwards(tick), y2: upwards(tick) }));
    picture.append(make("text", { x: left - 8, y: upwards(tick) + 4, "text-anchor": "end" }, shortNumber(tick, 4)));
  }
  picture.append(make("text", { class: "label", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, xlabel));
  const middle = (height - bottom + top) / 2;
  picture.append(make("text", { class: "label", x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, ylabel));
  picture.setAttribute("aria-label", `${ylabel} over ${xlabel}`);
  return { across, upwards };
}

function chartPicture(x, y, { joined = false, onpoint = null, best = null, colour = null, inside = null }) {
  const { picture, make } = emptyPicture();
  const points = x.values.map((value, k) => [value, y.values[k], k]).filter(([a, b]) => typeof a === "number" && typeof b === "number");
  if (!points.length) return picture;
  const walls = (of) => of.walls || [];
  const [xs, ys] = [ticksOf([...points.map(([a]) => a), ...walls(x)]), ticksOf([...points.map(([, b]) => b), ...walls(y)])];
  const { across, upwards } = drawAxes(picture, make, xs, ys, x.label, y.label);
  const places = points.map(([a, b]) => `${across(a)},${upwards(b)}`);
  if (joined) picture.append(make("polyline", { class: "curve", points: places.join(" ") }));
  for (const wall of walls(x)) picture.append(make("line", { class: "wall", x1: across(wall), x2: across(wall), y1: upwards(ys.low), y2: upwards(ys.high) }));
  for (const wall of walls(y)) picture.append(make("line", { class: "wall", x1: across(xs.low), x2: across(xs.high), y1: upwards(wall), y2: upwards(wall) }));
  const shade = colour && pointColour(colour);
  for (const [a, b, k] of points) {
    const kind = `${onpoint ? "point active" : "point"}${inside && !inside[k] ? " outside" : ""}${k === best ? " star" : ""}`;
    const style = shade ? `fill: ${shade(colour.values[k])}` : "";
    const point = k === best
      ? make("path", { class: kind, style, d: starAt(across(a), upwards(b), 9) })
      : make("circle", { class: kind, style, cx: across(a), cy: upwards(b), r: points.length > 200 ? 2 : 3.5 });
    point.append(make("title", {}, `${k}: ${shortNumber(a, 5)}, ${shortNumber(b, 5)}`));
    if (onpoint) point.addEventListener("click", () => onpoint(k));
    picture.append(point);
  }
  return picture;
}

/** The path of a star of five points. */
function starAt(x, y, size) {
  const corners = Array.from({ length: 10 }, (_, k) => {
    const [r, angle] = [k % 2 ? 0.42 * size : size, (k * Math.PI) / 5 - Math.PI / 2];
    return `${x + r * Math.cos(angle)},${y + r * Math.sin(angle)}`;
  });
  return `M${corners.join("L")}Z`;
}

/** Round ticks over values, and the range of an axis. */
function ticksOf(values) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
  if (high - low < 1e-9 * size) [low, high] = [low - 0.5 * size, high + 0.5 * size];
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((each) => each * power >= rough * 0.999);
  [low, high] = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  const count = Math.round((high - low) / step);
  return { low, high, ticks: Array.from({ length: count + 1 }, (_, k) => Number((low + k * step).toPrecision(12))) };
}
