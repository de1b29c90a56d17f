// Time histories: names to pick, a plot for each, all with one cursor and one span of time.

const PLOT_HEIGHT = 190;
const PLOTS = 12; // at most, at a time
const NOISE = 1e-9; // of the largest value of the same unit: what is smaller is drawn as zero
const DASHES = [[5, 4], [2, 3], [9, 3, 2, 3]]; // of other runs

class Curves {
  constructor(histories, others, events, bytes, seek) {
    Object.assign(this, { histories, others, events });
    this.bytes = bytes;
    this.seek = seek;
    this.times = arrayOf(histories.times, bytes).data;
    this.otherTimes = others.map((other) => arrayOf(other.histories.times, bytes).data);
    this.plots = new Map(); // by path
    this.time = null;
    this.sync = libraries.uPlot.sync("femb");
    this.names = element("div", { className: "names" });
    this.stack = element("div", { className: "stack" });
    this.filter = element("input", {
      type: "search", placeholder: "filter, as hub velocity", ariaLabel: "filter names", oninput: () => this.list(),
    });
    const clear = element("button", { type: "button", onclick: () => this.show([]) }, "clear");
    const dashed = others.map((other, k) => `${["dashed", "dotted", "dash-dotted"][k % 3]}: ${other.name}`).join(", ");
    const note = element("p", { className: "hint" }, "Drag across a plot to enlarge a span of time; double-click shows all. A click moves the animation there.",
      events.length ? " Grey lines are events." : "", dashed ? ` Lines ${dashed}.` : "");
    this.place = element(
      "div", { className: "histories" },
      element("div", { className: "picker" }, element("div", { className: "filter" }, this.filter, clear), this.names),
      element("div", {}, this.stack, note),
    );
    this.list();
    new ResizeObserver(() => this.resize()).observe(this.stack);
  }

  /** The names that the filter lets through, by item. */
  list() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const items = new Map();
    for (const entry of this.histories.entries) {
      if (!words.every((word) => entry.path.toLowerCase().includes(word))) continue;
      const [item, quantity] = splitPath(entry.path);
      if (!items.has(item)) items.set(item, []);
      items.get(item).push([quantity, entry]);
    }
    const last = ([item]) => Number(item === "audit");
    const groups = [...items].sort((first, second) => last(first) - last(second)).map(([item, entries], k) => {
      const boxes = entries.map(([quantity, entry]) => this.box(quantity, entry));
      const open = words.length > 0 || items.size <= 4 || k < 1 || entries.some(([, entry]) => this.plots.has(entry.path));
      return element("details", { open }, element("summary", {}, item), boxes);
    });
    this.names.replaceChildren(...(groups.length ? groups : ["no such name"]));
  }

  box(quantity, entry) {
    const input = element("input", { type: "checkbox", checked: this.plots.has(entry.path), value: entry.path });
    input.onchange = () => (input.checked ? this.add(entry) : this.remove(entry.path));
    const unit = entry.unit ? element("span", { className: "unit" }, entry.unit) : null;
    return element("label", { className: "name" }, input, element("span", {}, quantity), unit);
  }

  /** Shows these paths and no others. */
  show(paths) {
    for (const path of [...this.plots.keys()]) this.remove(path);
    for (const path of paths) {
      const entry = this.histories.entries.find((each) => each.path === path);
      if (entry) this.add(entry);
    }
    this.list();
  }

  add(entry) {
    if (this.plots.size >= PLOTS) this.remove(this.plots.keys().next().value);
    const box = element("div", { className: "plot" });
    this.stack.append(box);
    this.plots.set(entry.path, { box, entry, plot: this.drawn(entry, box) });
    for (const input of this.names.querySelectorAll("input")) input.checked = this.plots.has(input.value);
  }

  remove(path) {
    const found = this.plots.get(path);
    if (!found) return;
    this.sync.unsub(found.plot);
    found.plot.destroy();
    found.box.remove();
    this.plots.delete(path);
    for (const input of this.names.querySelectorAll("input")) if (input.value === path) input.checked = false;
  }

  /** The values (columns of numbers) of an entry, over times that all runs share; with the series for uPlot. */
  columns(entry, quantity) {
    const own = arrayOf(entry.values, this.bytes);
    const tables = [[timesOf(entry, this.times), ...entry.labels.map((_, c) => columnOf(own, c))]];
    const series = entry.labels.map((label, c) => ({ label: label || quantity, c, points: own.rows < 40 }));
    this.others.forEach((other, k) => {
      const same = other.histories.entries.find((each) => each.path === entry.path);
      if (!same) return;
      const values = arrayOf(same.values, this.bytes);
      tables.push([timesOf(same, this.otherTimes[k]), ...same.labels.map((_, c) => columnOf(values, c))]);
      same.labels.forEach((label, c) => series.push({ label: `${label || quantity}, ${other.name}`, c, dash: DASHES[k % DASHES.length] }));
    });
    const [times, ...columns] = tables.length > 1 ? libraries.uPlot.join(tables.map(([times, ...others]) => [Array.from(times), ...others])) : tables[0];
    return { times, columns, series };
  }

  drawn(entry, box) {
    const [item, quantity] = splitPath(entry.path);
    const { times, columns, series } = this.columns(entry, quantity);
    const [factor, unit] = this.factorOf(entry, columns);
    const data = [times, ...(factor === 1 ? columns : columns.map((column) => column.map((x) => (typeof x === "number" ? x / factor : x))))];
    const states = this.histories.axis === "state";
    const noise = (NOISE * this.largestOf(entry.unit)) / factor;
    const options = {
      width: Math.max(260, this.stack.clientWidth || 600),
      height: PLOT_HEIGHT,
      title: "",
      cursor: { sync: { key: "femb" }, drag: { x: true, y: false }, points: { size: 6 } },
      legend: { live: true },
      scales: { x: { time: false }, y: { range: (_, low, high) => spanOf(low, high, noise) } },
      axes: [
        plotAxis({ size: 28, ...(states ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] } : {}) }),
        plotAxis({ size: 62, values: (_, ticks) => ticks.map((tick) => shortNumber(tick, 6)) }),
      ],
      series: [
        { label: this.histories.axis, value: (_, x) => shortNumber(x, 6) },
        ...series.map(({ label, c, dash, points }) => ({
          label, stroke: PALETTE[c % PALETTE.length], width: 1.4, dash, points: { show: Boolean(points), size: 4 },
          value: (_, x) => (typeof x === "number" ? shortNumber(x, 5) : "–"),
        })),
      ],
      hooks: { draw: [(plot) => this.mark(plot)], ready: [(plot) => this.clicks(plot)] },
    };
    box.append(element("div", { className: "plot-title" }, element("b", {}, quantity), ` of ${item}`, unit ? ` (${unit})` : ""));
    const plot = new libraries.uPlot(options, data, box);
    this.sync.sub(plot);
    return plot;
  }

  /** The largest value of all histories of a unit; of angles at least a right one. */
  largestOf(unit) {
    const least = { deg: 90, rad: Math.PI / 2 }[unit] || 0;
    return this.histories.entries.reduce((most, each) => (each.unit === unit ? Math.max(most, each.largest) : most), least);
  }

  /** The divisor and the unit of an entry, with a prefix where numbers would be long. */
  factorOf(entry, columns) {
    let largest = 0;
    for (const column of columns) for (const x of column) if (typeof x === "number") largest = Math.max(largest, Math.abs(x));
    if (!["m", "N", "J", "Pa"].includes(entry.unit) || largest === 0 || (largest >= 0.01 && largest < 1e4)) return [1, entry.unit];
    const [factor, prefix] = scaled(largest);
    return [factor, prefix + entry.unit];
  }

  /** Lines at the events, and at the time of the animation. */
  mark(plot) {
    for (const event of this.events) this.line(plot, event.time, themeColour("--grid"), [3, 3]);
    if (this.time !== null) this.line(plot, this.time, themeColour("--accent"), []);
  }

  line(plot, time, colour, dash) {
    const x = plot.valToPos(time, "x", true);
    const { left, top, width, height } = plot.bbox;
    if (x < left || x > left + width) return;
    plot.ctx.save();
    plot.ctx.strokeStyle = colour;
    plot.ctx.setLineDash(dash);
    plot.ctx.lineWidth = window.devicePixelRatio || 1;
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, top);
    plot.ctx.lineTo(x, top + height);
    plot.ctx.stroke();
    plot.ctx.restore();
  }

  clicks(plot) {
    let start = null;
    plot.over.addEventListener("mousedown", (event) => (start = event.clientX));
    plot.over.addEventListener("mouseup", (event) => {
      if (start !== null && Math.abs(event.clientX - start) < 3) {
        this.seek(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
      }
      start = null;
    });
  }

  at(time) {
    this.time = time;
    for (const { plot } of this.plots.values()) plot.redraw(false, false);
  }

  resize() {
    const width = Math.max(260, this.stack.clientWidth);
    for (const { plot } of this.plots.values()) if (plot.width !== width) plot.setSize({ width, height: PLOT_HEIGHT });
  }

  theme() {
    this.show([...this.plots.keys()]);
  }

  /** Paths to begin with: angles of a body, deflection of a beam, coordinates of a joint, or the first, and the energy
   * error. Those that stay zero beside others of their unit come last. */
  chosen() {
    const entries = this.histories.entries;
    const moves = (entry) => entry.largest > 1e-6 * this.largestOf(entry.unit);
    const first = (start, end) => {
      const found = entries.filter((entry) => entry.path.startsWith(start) && entry.path.endsWith(end));
      return (found.find(moves) || {}).path;
    };
    const found = [first("bodies/", "/euler_angles"), first("beams/", "/deflection"), first("joints/", "/coordinates")].filter(Boolean);
    const paths = entries.map((entry) => entry.path);
    if (!found.length) found.push(...paths.filter((path) => !path.startsWith("audit/")).slice(0, 2));
    return [...found, ...paths.filter((path) => path === "audit/energy_error")].slice(0, 3);
  }
}

/** The range of an axis over values, no narrower than noise. */
function spanOf(low, high, noise) {
  if (low === null || high === null) return [0, 1];
  const [least, most] = high - low < noise ? [0.5 * (low + high) - noise, 0.5 * (low + high) + noise] : [low, high];
  if (least === most) return least === 0 ? [-1, 1] : [least - 0.5 * Math.abs(least), most + 0.5 * Math.abs(most)];
  const margin = 0.06 * (most - least);
  return [least - margin, most + margin];
}

/** The times of an entry, which may have every n-th output time and the last. */
function timesOf(entry, times) {
  if (!(entry.every > 1)) return times;
  const rows = Array.from({ length: Math.ceil(times.length / entry.every) }, (_, k) => k * entry.every);
  if (rows.at(-1) !== times.length - 1) rows.push(times.length - 1);
  return Float64Array.from(rows, (row) => times[row]);
}

/** "bodies/hub/velocity" as ["hub (bodies)", "velocity"]; names of items may contain a slash. */
function splitPath(path) {
  const parts = path.split("/");
  if (parts.length < 3) return [parts[0], parts.slice(1).join("/") || parts[0]];
  return [`${parts.slice(1, -1).join("/")} (${parts[0]})`, parts[parts.length - 1]];
}
