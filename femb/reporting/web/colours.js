// Colour scales: viridis for magnitudes, blue to red about grey for quantities with a sign.

const VIRIDIS = ["#462a7a", "#453781", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const SIGNED = ["#174a8c", "#3c78b4", "#7fa9cf", "#bccddb", "#d9dadb", "#e6c4b4", "#dd957a", "#c65a45", "#9c1f2b"];
const PLAIN = { beam: "#4f86b8", body: "#b9bfc6", flexible: "#8fa9bf", marker: "#d0843c", rod: "#d0843c", ring: "#8a4fa8", cone: "#d4a017", arrow: "#1a8a63", drum: "#4f9fd8" };
const SIDES = ["#c98b52", "#5b8fc7"]; // of a shell, behind its normal and in front
const BY_SIDE = ", side seen";
const LISTED = 14; // entries of a legend

/** (256 x 3) red, green and blue between 0 and 1, linear light for three.js. */
function colourTable(stops) {
  const table = new Float32Array(256 * 3);
  const first = new libraries.Color();
  const second = new libraries.Color();
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (stops.length - 1);
    const k = Math.min(Math.floor(place), stops.length - 2);
    first.set(stops[k]).lerp(second.set(stops[k + 1]), place - k);
    table.set([first.r, first.g, first.b], 3 * i);
  }
  return table;
}

/** The colour of the k-th of many things: those of plots, then hues far from each other. */
function colourOf(k) {
  return k < PALETTE.length ? PALETTE[k] : `hsl(${Math.round((k * 137.508) % 360)}, 45%, ${45 + 7 * (k % 4)}%)`;
}

/** A legend of colours by name. */
function listedColours(title, colours) {
  const entries = [...colours].slice(0, LISTED).map(([name, colour]) => {
    const patch = element("span", { className: "patch" });
    patch.style.background = colour;
    return element("div", {}, patch, name);
  });
  const more = colours.size > LISTED ? element("div", {}, `and ${colours.size - LISTED} more`) : null;
  return element("div", { className: "legend listed" }, element("div", { className: "legend-title" }, title), entries, more);
}

/** The scale of a quantity with low, high: its range, table and colours for CSS. bySide: of the side of a shell that is
 * seen, in place of the larger value of both. */
class ColourScale {
  constructor(quantity, bySide = false) {
    this.name = quantity.name + (bySide ? BY_SIDE : "");
    this.quantity = quantity.name;
    this.bySide = bySide;
    this.unit = quantity.unit;
    const signed = quantity.low < 0;
    const most = Math.max(Math.abs(quantity.low), Math.abs(quantity.high)) || 1;
    this.low = signed ? -most : 0;
    this.high = most;
    this.stops = signed ? SIGNED : VIRIDIS;
    this.table = colourTable(this.stops);
  }

  /** Writes the colour of a value to three numbers of an array. */
  write(value, colours, at) {
    const place = (value - this.low) / (this.high - this.low);
    const i = 3 * Math.max(0, Math.min(255, Math.round(255 * place) || 0));
    colours[at] = this.table[i];
    colours[at + 1] = this.table[i + 1];
    colours[at + 2] = this.table[i + 2];
  }

  /** The title and the three labels of the legend. */
  words() {
    const [factor, prefix] = this.unit ? scaled(this.high) : [1, ""];
    const labels = [this.low, 0.5 * (this.low + this.high), this.high].map((value) => shortNumber(value / factor, 3));
    return { title: `${this.name}${this.unit ? ` (${prefix}${this.unit})` : ""}`, labels };
  }

  /** The legend: a bar with its ends, middle and unit. */
  legend() {
    const { title, labels } = this.words();
    const bar = element("div", { className: "bar" });
    bar.style.background = `linear-gradient(to right, ${this.stops.join(", ")})`;
    return element(
      "div", { className: "legend" },
      element("div", { className: "legend-title" }, title),
      bar,
      element("div", { className: "legend-labels" }, labels.map((label) => element("span", {}, label))),
    );
  }
}

/** A power of a thousand and its prefix, so that a size is between 0.1 and 1000. */
function scaled(size) {
  const prefixes = { 1e9: "G", 1e6: "M", 1e3: "k", 1: "", 1e-3: "m", 1e-6: "µ", 1e-9: "n" };
  for (const factor of [1e9, 1e6, 1e3, 1, 1e-3, 1e-6, 1e-9]) {
    if (size >= factor * (factor === 1 ? 0.1 : 1)) return [factor, prefixes[factor]];
  }
  return [1, ""];
}
