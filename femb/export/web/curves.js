// Time histories: names to pick, a plot for each, all with one cursor and one span of time.

const PALETTE = ["#2f7fc1", "#d9722e", "#2a9d74", "#b65fa0", "#c29a1c", "#5aa9d6", "#8a6d5c", "#7a7f87"];
const PLOT_HEIGHT = 190;
const PLOTS = 12; // at most, at a time

class Curves {
  constructor(histories, bytes, seek) {
    this.histories = histories;
    this.bytes = bytes;
    this.seek = seek;
    this.times = arrayOf(histories.times, bytes).data;
    this.plots = new Map(); // by path
    this.time = null;
    this.sync = libraries.uPlot.sync("femb");
    this.names = element("div", { className: "names" });
    this.stack = element("div", { className: "stack" });
    this.filter = element("input", {
      type: "search", placeholder: "filter, as hub velocity", ariaLabel: "filter names", oninput: () => this.list(),
    });
    const clear = element("button", { type: "button", onclick: () => this.show([]) }, "clear");
    const note = element("p", { className: "hint" }, "Drag across a plot to enlarge a span of time; double-click shows all. A click moves the animation there.");
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

  drawn(entry, box) {
    const values = arrayOf(entry.values, this.bytes);
    const columns = entry.labels.map((_, c) => Array.from({ length: values.rows }, (_, t) => {
      const value = values.data[t * values.columns + c];
      return Number.isNaN(value) ? null : value;
    }));
    const [factor, unit] = this.factorOf(entry, columns);
    const data = [Array.from(this.times), ...columns.map((column) => column.map((x) => (x === null ? null : x / factor)))];
    const ink = themeColour("--ink-soft");
    const line = { stroke: themeColour("--line"), width: 1 };
    const axis = { stroke: ink, grid: line, ticks: { ...line, size: 4 }, font: "11px system-ui, sans-serif", gap: 4 };
    const [item, quantity] = splitPath(entry.path);
    const options = {
      width: Math.max(260, this.stack.clientWidth || 600),
      height: PLOT_HEIGHT,
      title: "",
      cursor: { sync: { key: "femb" }, drag: { x: true, y: false }, points: { size: 6 } },
      legend: { live: true },
      scales: { x: { time: false } },
      axes: [
        { ...axis, size: 28 },
        { ...axis, size: 62, values: (_, ticks) => ticks.map((tick) => shortNumber(tick, 6)) },
      ],
      series: [
        { label: this.histories.axis, value: (_, x) => shortNumber(x, 6) },
        ...entry.labels.map((label, c) => ({
          label: label || quantity, stroke: PALETTE[c % PALETTE.length], width: 1.4, points: { show: values.rows < 40, size: 4 },
          value: (_, x) => (x === null ? "–" : shortNumber(x, 5)),
        })),
      ],
      hooks: { draw: [(plot) => this.mark(plot)], ready: [(plot) => this.clicks(plot)] },
    };
    box.append(element("div", { className: "plot-title" }, element("b", {}, quantity), ` of ${item}`, unit ? ` (${unit})` : ""));
    const plot = new libraries.uPlot(options, data, box);
    this.sync.sub(plot);
    return plot;
  }

  /** The divisor and the unit of an entry, with a prefix where numbers would be long. */
  factorOf(entry, columns) {
    let largest = 0;
    for (const column of columns) for (const x of column) if (x !== null) largest = Math.max(largest, Math.abs(x));
    if (!["m", "N", "J", "Pa"].includes(entry.unit) || largest === 0 || (largest >= 0.01 && largest < 1e4)) return [1, entry.unit];
    const [factor, prefix] = scaled(largest);
    return [factor, prefix + entry.unit];
  }

  /** A line at the time of the animation. */
  mark(plot) {
    if (this.time === null) return;
    const x = plot.valToPos(this.time, "x", true);
    const { left, top, width, height } = plot.bbox;
    if (x < left || x > left + width) return;
    plot.ctx.save();
    plot.ctx.strokeStyle = themeColour("--accent");
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

  /** Paths to begin with: angles of the first body, deflection of the first beam, or the first, and the energy error. */
  chosen() {
    const paths = this.histories.entries.map((entry) => entry.path);
    const bodies = paths.find((path) => path.startsWith("bodies/") && path.endsWith("/euler_angles"));
    const deflection = paths.find((path) => path.startsWith("beams/") && path.endsWith("/deflection"));
    const joint = paths.find((path) => path.startsWith("joints/") && path.endsWith("/coordinates"));
    const found = [bodies, deflection, joint].filter(Boolean);
    if (!found.length) found.push(...paths.filter((path) => !path.startsWith("audit/")).slice(0, 2));
    return [...found, ...paths.filter((path) => path === "audit/energy_error")].slice(0, 3);
  }
}

/** "bodies/hub/velocity" as ["hub (bodies)", "velocity"]; names of items may contain a slash. */
function splitPath(path) {
  const parts = path.split("/");
  if (parts.length < 3) return [parts[0], parts.slice(1).join("/") || parts[0]];
  return [`${parts.slice(1, -1).join("/")} (${parts[0]})`, parts[parts.length - 1]];
}
