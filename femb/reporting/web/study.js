// The runs of a study: a chart of one column over another, parallel coordinates, distributions, statistics, the table.

const MOST_AXES = 12; // of parallel coordinates

function studySection(study) {
  const rows = study.values[0].map((_, k) => study.columns.map((_, c) => study.values[c][k]));
  const columns = study.columns.map((title, c) => ({
    title, number: typeof study.values[c][0] === "number", key: (row) => row[c],
    text: (row) => (typeof row[c] === "number" ? shortNumber(row[c], 6) : row[c] === null ? "–" : String(row[c])),
  }));
  const column = (label) => ({ label, values: study.values[study.columns.indexOf(label)], walls: study.limits[label] || [] });
  const numeric = (each) => each.values.some((value) => typeof value === "number");
  const [variables, outputs] = [study.variables.map(column).filter(numeric), study.outputs.map(column).filter(numeric)];
  const said = study.campbell ? `Natural modes at ${study.runs} values.` : `${study.runs} runs, ${study.failed} failed; design: ${study.design}.`;
  const parts = [element("p", {}, said)];
  for (const line of study.judged) parts.push(element("p", {}, line.charAt(0).toUpperCase() + line.slice(1) + "."));
  if (study.campbell) parts.push(campbell(study.campbell));
  const runs = table(columns, rows, null, study.best);
  if (outputs.length) {
    const joined = variables.length === 1 && ["grid", "list", "modes"].includes(study.design);
    const picture = chart([...variables, ...outputs], [...outputs, ...variables], { joined, coloured: [...outputs, ...variables], best: study.best });
    parts.push(picture);
    const axes = [...variables, ...outputs].slice(0, MOST_AXES);
    if (!study.campbell && axes.length > 2) {
      parts.push(element("h3", {}, "All columns"), parallelCoordinates(axes, rows.length, study.best, (inside) => [picture, runs].forEach((part) => part.choose(inside))));
    }
    if (!study.campbell) parts.push(element("h3", {}, "Distribution"), histogram([...outputs, ...variables]));
  }
  const statistics = outputs.map((each) => {
    const known = each.values.filter((value) => typeof value === "number").sort((a, b) => a - b);
    const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
    const squares = known.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    const deviation = known.length > 1 ? Math.sqrt(squares / (known.length - 1)) : 0;
    return { label: each.label, least: known[0], median: quantile(known, 0.5), mean, deviation, largest: known.at(-1) };
  });
  const words = ["least", "median", "mean", "deviation", "largest"];
  const shown = words.map((word) => ({ title: word, text: (row) => shortNumber(row[word], 6), key: (row) => row[word], number: true }));
  parts.push(element("h3", {}, "Outputs"), table([{ title: "output", text: (row) => row.label }, ...shown], statistics));
  parts.push(element("h3", {}, study.campbell ? "Values" : "Runs"), runs);
  if (rows.length < study.runs) parts.push(element("p", { className: "hint" }, `The first ${rows.length} of ${study.runs} runs; sweep.csv has all.`));
  return parts;
}

/** Modes over a parameter, with their names at the curves and lines of the multiples of a rate of rotation. */
function campbell({ label, speed, modes, crossings, revolutions }) {
  const { picture, make } = emptyPicture();
  const room = 120; // of the names
  picture.setAttribute("viewBox", `0 0 ${CHART.width + room} ${CHART.height}`);
  const highest = 1.08 * Math.max(...modes.flatMap((mode) => mode.values));
  const { across, upwards } = drawAxes(picture, make, ticksOf(speed), ticksOf([0, highest]), label, "frequency (Hz)");
  const curve = (values, style) => make("polyline", { class: "curve", style, points: speed.map((x, k) => `${across(x)},${upwards(values[k])}`).join(" ") });
  for (const { name, values } of revolutions) {
    const inside = speed.map((x, k) => [x, values[k]]).filter(([, y]) => y <= highest);
    const points = inside.map(([x, y]) => `${across(x)},${upwards(y)}`).join(" ");
    picture.append(make("polyline", { class: "curve", style: "stroke: #999; stroke-width: 1; stroke-dasharray: 4 3", points }));
    if (inside.length > 1) picture.append(make("text", { x: across(inside.at(-1)[0]) - 4, y: upwards(inside.at(-1)[1]) - 4, "text-anchor": "end" }, name));
  }
  let last = Infinity;
  const ordered = modes.map((mode, k) => ({ ...mode, k })).sort((a, b) => a.values.at(-1) - b.values.at(-1));
  for (const { name, values, k } of ordered) {
    const colour = PALETTE[k % PALETTE.length];
    picture.append(curve(values, `stroke: ${colour}`));
    last = Math.min(upwards(values.at(-1)) + 4, last - 13);
    picture.append(make("text", { x: across(speed.at(-1)) + 6, y: last, style: `fill: ${colour}` }, name));
    for (const [x, y] of crossings[k]) {
      const ring = make("circle", { cx: across(x), cy: upwards(y), r: 4, style: `stroke: ${colour}; fill: none; stroke-width: 1.5` });
      ring.append(make("title", {}, `${shortNumber(x, 4)} rpm, ${shortNumber(y, 4)} Hz`));
      picture.append(ring, make("text", { x: across(x) + 5, y: upwards(y) + 15, style: `fill: ${colour}` }, `${shortNumber(x, 3)} rpm`));
    }
  }
  return element("div", { className: "chart" }, picture);
}

function quantile(ordered, part) {
  const place = part * (ordered.length - 1);
  const k = Math.floor(place);
  return k + 1 < ordered.length ? ordered[k] + (place - k) * (ordered[k + 1] - ordered[k]) : ordered[k];
}

const BINS = { least: 5, most: 30 };

/** How often values of a chosen column occur, as bars. */
function histogram(columns) {
  const place = element("div", { className: "chart" });
  const list = element("select", { ariaLabel: "column", onchange: () => draw() }, columns.map((each, k) => new Option(each.label, String(k))));
  const draw = () => place.replaceChildren(histogramPicture(columns[Number(list.value)]));
  draw();
  return element("div", {}, element("div", { className: "options" }, labelled("of", list)), place);
}

function histogramPicture({ label, values }) {
  const known = values.filter((value) => typeof value === "number");
  const { picture, make } = emptyPicture();
  if (!known.length) return picture;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const count = high > low ? Math.max(BINS.least, Math.min(BINS.most, Math.ceil(Math.sqrt(known.length)))) : 1;
  const width = (high - low) / count || 1;
  const bins = new Array(count).fill(0);
  for (const value of known) bins[Math.min(count - 1, Math.floor((value - low) / width))] += 1;
  const edges = high > low ? [low, high] : [low - 0.5, low + 0.5];
  const axes = drawAxes(picture, make, ticksOf(edges), ticksOf([0, Math.max(...bins)]), label, "runs");
  bins.forEach((number, k) => {
    const [from, to] = [edges[0] + k * width, edges[0] + (k + 1) * width];
    const box = { x: axes.across(from) + 0.5, y: axes.upwards(number), width: axes.across(to) - axes.across(from) - 1 };
    const bar = make("rect", { class: "bin", ...box, height: axes.upwards(0) - axes.upwards(number) });
    bar.append(make("title", {}, `${shortNumber(from, 5)} to ${shortNumber(to, 5)}: ${number}`));
    picture.append(bar);
  });
  return picture;
}
