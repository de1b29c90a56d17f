// Frequency responses: gain and phase of an output by an input, densities of a random shake; poles, static gains.

class Responses {
  constructor(data, bytes) {
    this.data = data;
    this.frequencies = Array.from(arrayOf(data.frequencies, bytes).data);
    this.gain = arrayOf(data.gain, bytes);
    this.phase = arrayOf(data.phase, bytes);
    this.density = data.density && arrayOf(data.density, bytes);
    this.step = data.step && arrayOf(data.step[1], bytes);
    this.times = data.step && Array.from(arrayOf(data.step[0], bytes).data);
    const list = (names, word) => element(
      "select", { ariaLabel: word, onchange: () => this.draw() }, names.map((name, k) => new Option(name, String(k))),
    );
    this.output = list(data.outputs, "output");
    this.input = list(data.inputs, "input");
    this.stack = element("div", { className: "stack" });
    this.plots = [];
    const choices = [labelled("output", this.output)];
    if (data.inputs.length > 1) choices.push(labelled("input", this.input));
    else choices.push(element("span", { className: "hint" }, `by ${data.inputs[0]}`));
    const hint = element("p", { className: "hint" }, "Drag across a plot to enlarge a span of frequencies; double-click shows all.");
    this.place = element("div", {}, element("div", { className: "options" }, choices), this.stack, hint);
    new ResizeObserver(() => this.resize()).observe(this.stack);
    // begin with an output that the shake moves
    const first = data.shaken.findIndex((row) => row.peak);
    if (first > 0 && first < data.outputs.length) this.output.value = String(first);
    if (!data.shaken.length) [this.output.value, this.input.value] = data.strongest.map(String);
    this.draw();
  }

  draw() {
    for (const plot of this.plots) plot.destroy();
    this.stack.replaceChildren();
    const k = Number(this.output.value) * this.data.inputs.length + Number(this.input.value);
    const row = this.data.shaken[Number(this.output.value)];
    if (row && !row.peak) {
      this.plots = [];
      this.stack.append(element("p", {}, "This output is zero: the shake does not move it."));
      return;
    }
    if (this.data.zero[Number(this.output.value)][Number(this.input.value)]) {
      this.plots = [];
      this.stack.append(element("p", {}, "Zero to rounding: this output does not respond to this input."));
      return;
    }
    const pair = `${this.data.outputs[Number(this.output.value)]} by ${this.data.inputs[Number(this.input.value)]}`;
    this.stack.append(element("p", { className: "on-paper" }, pair));
    const amplitude = columnOf(this.gain, k).map((x) => (x === null ? null : 10 ** (x / 20)));
    const ratio = this.data.units[Number(this.output.value)][Number(this.input.value)];
    this.plots = [this.drawn(ratio ? `gain (${ratio})` : "gain (SI units)", amplitude, true, 260)];
    if (this.density) {
      const values = columnOf(this.density, Number(this.output.value)).map((x) => (x === null ? null : 10 ** (x / 10)));
      const unit = row && row.unit ? (row.unit.length > 1 ? `(${row.unit})²/Hz` : `${row.unit}²/Hz`) : "SI units squared/Hz";
      this.plots.push(this.drawn(`density, ${unit}`, values, true, 260));
    }
    this.plots.push(this.drawn("phase (deg)", columnOf(this.phase, k), false, 170));
    if (this.step) this.plots.push(this.drawn(`after a unit step${ratio ? ` (${ratio})` : ""}`, columnOf(this.step, k), false, 200, this.times));
  }

  drawn(title, values, logarithmic, height, times = null) {
    const positive = values.filter((x) => x !== null && x > 0);
    const log = logarithmic && positive.length > 0;
    // near one: uPlot divides logarithmic axes by rounding
    const unit = log ? 10 ** Math.round(Math.log10(Math.max(...positive))) : 1;
    const x = { time: false, distr: times ? 1 : 3, range: (_, low, high) => [low, high] };
    const side = { size: 66, label: title, labelSize: 18, labelFont: "12px system-ui, sans-serif" };
    const plain = times ? side : { ...side, incrs: [15, 30, 45, 90, 180, 360, 720, 1440] };
    const options = {
      width: this.width(), height, cursor: { sync: { key: times ? "femb-step" : "femb-frequency" }, drag: { x: true, y: false } },
      scales: { x, y: log ? { distr: 3 } : {} },
      axes: [times ? plotAxis({ size: 28 }) : logarithmicAxis({ size: 28 }), log ? logarithmicAxis(side, unit) : plotAxis(plain)],
      series: [
        { label: times ? "time (s)" : "frequency (Hz)", value: (_, f) => shortNumber(f, 5) },
        { label: title, stroke: PALETTE[0], width: 1.5, points: { show: false }, value: (_, y) => (y === null ? "–" : shortNumber(y * unit, 5)) },
      ],
    };
    const box = element("div", { className: "plot" });
    this.stack.append(box);
    return new libraries.uPlot(options, [times || this.frequencies, values.map((y) => (y === null ? null : y / unit))], box);
  }

  width() {
    return Math.max(260, this.stack.clientWidth || 600);
  }

  resize() {
    const width = this.width();
    for (const plot of this.plots) if (plot.width !== width) plot.setSize({ width, height: plot.height });
  }
}

/** A column of numbers, with so many digits. */
function numbers(word, title, digits = 5) {
  return { title, text: (row) => (row[word] === null ? "–" : shortNumber(row[word], digits)), key: (row) => row[word], number: true };
}

/** The tables of a linear model or a base shake. */
function responseTables(data) {
  const parts = [];
  if (data.shaken.length) {
    const value = (word, title) => ({ title, text: (row) => (row[word] === null ? "–" : `${shortNumber(row[word], 5)} ${row.unit}`), key: (row) => row[word], number: true });
    const columns = [
      { title: "output", text: (row) => row.output }, { ...value("peak", "peak by unit acceleration"), text: (row) => shortNumber(row.peak, 5) },
      { title: "at (Hz)", text: (row) => (row.peak ? shortNumber(row.peak_frequency, 5) : "–"), key: (row) => row.peak_frequency, number: true },
    ];
    if ("rms" in data.shaken[0]) columns.push(value("rms", "RMS"), value("miles", "RMS by Miles"));
    parts.push(table(columns, data.shaken));
  }
  if (data.margins.length) {
    const columns = [{ title: "channel", text: (row) => row.channel }, { title: "margin", text: (row) => row.kind }, numbers("value", "value"), numbers("frequency", "at (Hz)")];
    parts.push(element("h3", {}, "Margins"), element("p", { className: "hint" }, "Each channel opened alone."), table(columns, data.margins));
  }
  if (data.poles.length) {
    const columns = [
      numbers("frequency", "frequency (Hz)", 6),
      { title: "damping (%)", text: (row) => (row.damping === null ? "–" : Math.abs(row.damping) < 1e-9 ? "0" : shortNumber(100 * row.damping, 4)), key: (row) => row.damping, number: true },
      { title: "real (1/s)", text: (row) => (Math.abs(row.damping) < 1e-9 ? "0" : shortNumber(row.real, 5)), key: (row) => row.real, number: true },
      numbers("imaginary", "imaginary (1/s)", 6),
    ];
    const [real, pairs] = [data.poles.filter((row) => row.imaginary === 0), data.poles.filter((row) => row.imaginary !== 0)];
    if (pairs.length) parts.push(element("h3", {}, "Poles"), element("p", { className: "hint" }, "One row for each conjugate pair."), table(columns, pairs));
    if (real.length) {
      const decay = (row) => (row.real < 0 ? shortNumber(-1 / row.real, 5) : "grows");
      const own = [columns[2], { title: "time constant (s)", text: decay, key: (row) => -1 / row.real, number: true }];
      parts.push(element("h3", {}, "Real poles"), table(own, real));
    }
  }
  if (data.gains) {
    const columns = [{ title: "output", text: (row) => row.name }, ...data.inputs.map((name, c) => (
      { title: name, text: (row) => shortNumber(row.values[c], 6), key: (row) => row.values[c], number: true }
    ))];
    const rows = data.gains.map((values, k) => ({ name: data.outputs[k], values }));
    parts.push(element("h3", {}, "Static gains"), table(columns, rows));
  } else if (data.poles.length) {
    parts.push(element("p", { className: "hint" }, "There are no static gains: the model has rigid motions."));
  }
  if (data.hankel) {
    const columns = [
      { title: "number", text: (_, k) => String(k + 1), number: true },
      { title: "Hankel singular value", text: (row) => shortNumber(row, 6), key: (row) => row, number: true },
    ];
    parts.push(element("h3", {}, "Hankel singular values"), table(columns, data.hankel));
  }
  if (data.left_out) parts.push(element("p", { className: "hint" }, `There was no room for the responses of ${data.left_out} further outputs.`));
  return parts;
}
