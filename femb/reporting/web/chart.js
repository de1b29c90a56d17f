// A chart of points, of which the columns across and up are chosen: static paths and runs of studies.

const CHART = { width: 640, height: 300, left: 72, right: 16, top: 12, bottom: 44 };

/** Columns are {label, values}; joined: points in their order by a line; onpoint(k): a click on point k. */
function chart(across, up, { joined = false, onpoint = null }) {
  const place = element("div", { className: "chart" });
  const list = (columns) => element("select", { onchange: () => draw() }, columns.map((each, k) => new Option(each.label, String(k))));
  const [first, second] = [list(across), list(up)];
  const draw = () => {
    const [x, y] = [across[Number(first.value)], up[Number(second.value)]];
    place.replaceChildren(chartPicture(x, y, joined, onpoint));
  };
  draw();
  return element("div", {}, element("div", { className: "options" }, labelled("up", second), labelled("across", first)), place);
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
  return { across, upwards };
}

function chartPicture(x, y, joined, onpoint) {
  const { picture, make } = emptyPicture();
  const points = x.values.map((value, k) => [value, y.values[k], k]).filter(([a, b]) => typeof a === "number" && typeof b === "number");
  if (!points.length) return picture;
  const [xs, ys] = [ticksOf(points.map(([a]) => a)), ticksOf(points.map(([, b]) => b))];
  const { across, upwards } = drawAxes(picture, make, xs, ys, x.label, y.label);
  const places = points.map(([a, b]) => `${across(a)},${upwards(b)}`);
  if (joined) picture.append(make("polyline", { class: "curve", points: places.join(" ") }));
  for (const [a, b, k] of points) {
    const point = make("circle", { class: onpoint ? "point active" : "point", cx: across(a), cy: upwards(b), r: points.length > 200 ? 2 : 3.5 });
    point.append(make("title", {}, `${k}: ${shortNumber(a, 5)}, ${shortNumber(b, 5)}`));
    if (onpoint) point.addEventListener("click", () => onpoint(k));
    picture.append(point);
  }
  return picture;
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
