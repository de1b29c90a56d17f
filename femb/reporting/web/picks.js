// Picks: the name and the quantities of a part or of a node at the shown instant, and the distance of two of them.

const PICKS = 2;
const PATIENCE = 100; // ms between texts while the animation plays

/** "right, node 3"; the name alone of a rigid body. */
function nameOfPick({ part, node }) {
  return node === null ? part.name : `${part.name}, node ${part.numberOf(node)}`;
}

class Picks {
  constructor(player, histories, bytes) {
    Object.assign(this, { player, histories, bytes });
    this.scene = player.scene;
    this.picks = player.viewer.marks.picks;
    this.units = Object.fromEntries(this.scene.quantities.map((each) => [each.name, each.unit]));
    this.times = histories && arrayOf(histories.times, bytes).data;
    this.place = element("div", { className: "picks", hidden: true });
    this.shown = 0;
    this.watch(player.viewer.renderer.domElement);
  }

  /** A click that does not turn the view picks. */
  watch(canvas) {
    let start = null;
    canvas.addEventListener("pointerdown", (event) => (start = event.button === 0 ? [event.clientX, event.clientY] : null));
    canvas.addEventListener("pointerup", (event) => {
      const still = start && Math.hypot(event.clientX - start[0], event.clientY - start[1]) < 4;
      start = null;
      const hit = still && this.player.viewer.under(event);
      if (hit) this.add(hit);
    });
  }

  add(pick) {
    if (this.picks.length === PICKS) this.picks.shift();
    this.picks.push(pick);
    this.changed();
  }

  /** Picks a part by its path, as "beams/boom", and a node. */
  pick(path, node = null) {
    const { bodies, beams } = this.player.structure;
    this.add({ part: [...bodies, ...beams].find((part) => part.path === path), node });
  }

  clear() {
    this.picks.length = 0;
    this.changed();
  }

  changed() {
    this.place.hidden = !this.picks.length;
    this.show();
    this.player.viewer.draw();
  }

  /** Writes the quantities at the shown instant; not at every image while it plays. */
  update() {
    if (!this.picks.length) return;
    const now = performance.now();
    if (!this.player.playing || now - this.shown > PATIENCE) this.show();
  }

  show() {
    this.shown = performance.now();
    const states = this.picks.map((pick) => this.stateOf(pick));
    const cards = this.picks.map((pick, k) => this.card(pick, states[k], k));
    const parts = [...cards];
    if (states.length === 2) {
      const between = states[1].place.map((x, k) => x - states[0].place[k]);
      const components = between.map((x) => shortNumber(x, 5)).join(", ");
      parts.push(element("p", { className: "distance" }, element("b", {}, `distance ${shortNumber(Math.hypot(...between), 6)} m`), ` (${components})`));
    } else {
      parts.push(element("p", { className: "hint" }, "Click on a second part for the distance between the two; Esc forgets them."));
    }
    this.place.replaceChildren(...parts);
  }

  /** Place in the frame of the results, and rows {name, values, unit}. */
  stateOf(pick) {
    const [i, j, w] = this.player.instant();
    const { place, deflection, values } = pick.part.truly(pick, i, j, w);
    const start = this.scene.path;
    const moved = place.toArray().map((x, k) => x + this.player.structure.path(k, i, j, w) + start[k]);
    const rows = [{ name: "position", values: moved, unit: "m" }];
    if (deflection) rows.push({ name: "deflection", values: deflection.toArray(), unit: "m" });
    for (const [name, each] of Object.entries(values)) {
      if (each.name in this.units) rows.push({ name, values: each.values, unit: this.units[each.name] });
    }
    const known = new Set(rows.map((row) => row.name));
    return { place: moved, rows: [...rows, ...this.recorded(pick).filter((row) => !known.has(row.name))] };
  }

  /** The histories of a body, or of a node, at the instant. */
  recorded({ part, node }) {
    if (!this.histories || this.player.kind === "modes") return [];
    const item = node === null ? part.path : `${part.path}[${part.numberOf(node)}]`;
    return this.histories.entries.filter((entry) => entry.path.startsWith(`${item}/`)).map((entry) => {
      const name = entry.path.slice(item.length + 1).replaceAll("_", " ");
      return { name, values: this.valuesAt(entry), unit: entry.unit, labels: entry.labels };
    });
  }

  valuesAt(entry) {
    entry.table ||= arrayOf(entry.values, this.bytes);
    const { data, columns, rows } = entry.table;
    const times = timesOf(entry, this.times);
    const time = this.player.timeOfHistories();
    let [low, high] = [0, rows - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time) low = middle;
      else high = middle;
    }
    const span = times[high] - times[low];
    const w = span > 0 ? (time - times[low]) / span : 0;
    return Array.from({ length: columns }, (_, c) => data[low * columns + c] * (1 - w) + w * data[high * columns + c]);
  }

  card(pick, state, k) {
    const rows = state.rows.map(({ name, values, unit }) => element(
      "tr", {}, element("th", {}, name), element("td", { className: "value" }, values.map((x) => shortNumber(x, 5)).join(", ")),
      element("td", { className: "unit" }, unit),
    ));
    const forget = element("button", { type: "button", title: "Forget", onclick: () => { this.picks.splice(k, 1); this.changed(); } }, "×");
    const note = this.player.kind === "modes" ? element("p", { className: "hint" }, "At rest: a mode has no size.") : null;
    return element(
      "div", { className: `pick mark-${k}` },
      element("h3", {}, element("span", { className: "dot" }), nameOfPick(pick), element("span", { className: "when" }, ` ${pick.part.path.split("/")[0]}${pick.part.group_name === pick.part.name ? "" : `, group ${pick.part.group_name}`}`), forget),
      note, element("table", {}, element("tbody", {}, rows)),
    );
  }
}
