// The player: play, pause, scrub, speed, what is followed, colours and the scale of deflections.

const LONGEST = 20; // s of playing at the first speed
const STATES_A_SECOND = 4;
const SWINGS_A_SECOND = 0.5; // of modes
const SCALES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];

class Player {
  constructor(scene, structure, viewer, modes) {
    Object.assign(this, { scene, structure, viewer, modes });
    this.kind = scene.kind === "buckling" ? "modes" : scene.kind; // both swing
    this.times = this.kind === "time" ? scene.times : scene.times.map((_, k) => k);
    this.first = this.times[0];
    this.last = this.times[this.times.length - 1];
    this.time = this.first;
    this.mode = 1;
    this.phase = 0;
    this.enlarge = 1;
    this.scale = null;
    this.listeners = [];
    const span = this.last - this.first;
    this.speed = this.kind === "states" ? STATES_A_SECOND : span > LONGEST ? span / LONGEST : 1;
    if (this.kind === "time" && span > 0 && span < 2) this.speed = span / 4;
    this.first_speed = this.speed;
    this.playing = false;
    this.before = null;
    this.visible = true;
    new IntersectionObserver((entries) => (this.visible = entries.at(-1).isIntersecting)).observe(viewer.place);
    this.build();
    this.show();
    requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    const step = this.before === null ? 0 : Math.min(0.1, (now - this.before) / 1000);
    this.before = now;
    if (this.playing && this.visible) {
      if (this.kind === "modes") {
        this.phase = (this.phase + 2 * Math.PI * SWINGS_A_SECOND * step) % (2 * Math.PI);
        this.show();
      } else {
        const next = this.time + step * this.speed;
        this.seek(next > this.last ? this.first : next); // from the start again
      }
    }
    requestAnimationFrame((later) => this.tick(later));
  }

  play(on = !this.playing) {
    this.playing = on && (this.kind === "modes" || this.times.length > 1);
    this.button.textContent = this.playing ? "❚❚" : "▶";
    this.button.title = this.playing ? "Pause (space)" : "Play (space)";
  }

  seek(time) {
    this.time = Math.min(this.last, Math.max(this.first, time));
    this.show();
    for (const listener of this.listeners) listener(this.time);
  }

  step(count) {
    this.play(false);
    if (this.kind === "modes") return;
    const [i, , w] = this.place();
    this.seek(this.times[Math.min(this.times.length - 1, Math.max(0, count > 0 ? i + count : i + (w > 1e-9 ? 0 : count)))]);
  }

  choose(mode) {
    this.mode = mode;
    this.modeList.value = String(mode);
    this.play(true);
    this.show();
    for (const listener of this.listeners) listener(mode);
  }

  /** The output times before and after the time, and the part of the way between them. */
  place() {
    let [low, high] = [0, this.times.length - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= this.time) low = middle;
      else high = middle;
    }
    const span = this.times[high] - this.times[low];
    return [low, high, span > 0 ? (this.time - this.times[low]) / span : 0];
  }

  /** The state at rest and that of a mode. */
  statesOf(mode) {
    const [rest, moved] = this.scene.kind === "buckling" ? [2 * mode - 2, 2 * mode - 1] : [0, mode];
    return [rest, Math.min(moved, this.times.length - 1)];
  }

  /** The output times before and after the shown instant, and the part of the way; of modes those of the state at rest. */
  instant() {
    return this.kind === "modes" ? [...this.statesOf(this.mode), 0] : this.place();
  }

  /** The instant on the axis of the histories. */
  timeOfHistories() {
    const [i, j, w] = this.place();
    return this.scene.times[i] + w * (this.scene.times[j] - this.scene.times[i]);
  }

  /** Sees the structure, as enlarged now, at all times or in all modes; now: as it is at this instant. */
  fit(along = "", now = false) {
    const { viewer, structure, enlarge } = this;
    if (now) {
      viewer.measure(1, () => this.show());
    } else if (this.kind === "modes") {
      const modes = this.modes ? this.modes.length : this.times.length - 1;
      const shown = Array.from({ length: Math.min(modes, LOOKS) }, (_, k) => k + 1);
      if (!shown.includes(this.mode)) shown.push(this.mode);
      viewer.measure(2 * shown.length, (k) => structure.show(...this.statesOf(shown[k >> 1]), (k % 2 ? -1 : 1) * enlarge, 1, null));
    } else {
      const last = this.times.length - 1;
      const count = Math.min(last, structure.beams.length + structure.bodies.length > MANY ? 2 : LOOKS);
      const at = (k) => (count ? Math.round((k * last) / count) : 0);
      viewer.measure(count + 1, (k) => structure.show(at(k), at(k), 0, enlarge, null));
    }
    this.show();
    viewer.frame(along);
    this.fitted = now ? "now" : "all";
  }

  /** Sees the whole motion, and where it is seen already, the structure at this instant. */
  fitNext() {
    this.fit("", this.fitted === "all" && this.viewer.framed === "");
  }

  show() {
    if (this.kind === "modes") {
      this.structure.show(...this.statesOf(this.mode), Math.sin(this.phase) * this.enlarge, 1, this.scale);
    } else {
      const [i, j, w] = this.place();
      this.structure.show(i, j, w, this.enlarge, this.scale);
      this.slider.value = String(this.time);
    }
    this.clock.textContent = this.text();
    if (this.picks) this.picks.update();
    this.viewer.draw();
  }

  text() {
    if (this.kind === "modes") {
      const mode = this.modes && this.modes[this.mode - 1];
      return mode ? `mode ${this.mode}, ${valueOfMode(mode)}` : `mode ${this.mode}`;
    }
    if (this.kind === "states") {
      const factor = this.factors && this.factors[Math.round(this.time)];
      const state = `state ${Math.round(this.time)}`;
      return factor === undefined || factor === null ? state : `${state}, load factor ${shortNumber(factor, 4)}`;
    }
    const span = this.last - this.first;
    const digits = span > 0 ? Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(span)))) : 3;
    return `${this.time.toFixed(digits)} s`;
  }

  build() {
    this.button = element("button", { className: "play", type: "button", onclick: () => this.play() });
    this.slider = element("input", {
      type: "range", min: this.first, max: this.last, step: "any", className: "scrub", ariaLabel: "time",
      oninput: () => { this.play(false); this.seek(Number(this.slider.value)); },
    });
    this.clock = element("output", { className: "clock" });
    this.modeList = element(
      "select", { className: "mode", ariaLabel: "mode", onchange: () => this.choose(Number(this.modeList.value)) },
      (this.modes || []).map((mode, k) => new Option(`${k + 1}: ${valueOfMode(mode)}, ${mode.moves}`, String(k + 1))),
    );
    const main = this.kind === "modes" ? [labelled("mode", this.modeList)] : [this.slider];
    this.bar = element("div", { className: "player" }, this.button, ...main, this.clock);
    this.options = element("div", { className: "options" }, this.choices());
    this.play(false);
  }

  choices() {
    const found = [];
    if (this.kind === "time" && this.last > this.first) found.push(labelled("speed", this.speeds()));
    this.legend = element("div", { className: "legend-place" });
    this.colours = element(
      "select", { ariaLabel: "colour", onchange: () => this.colour(this.colours.value) },
      new Option("plain", ""), this.paints().map(([name]) => new Option(name, name)),
      this.scales().map((scale) => new Option(scale.name, scale.name)),
    );
    found.push(labelled("colour by", this.colours));
    const named = (part) => new Option(part.name, part.name);
    const bodies = this.structure.bodies.filter((body) => !body.fixed);
    this.followList = element(
      "select", { ariaLabel: "follow", onchange: () => this.follow() },
      new Option("nothing", ""), new Option("the structure", "*"), bodies.map(named),
    );
    this.turning = element("input", { type: "checkbox", onchange: () => this.follow() });
    if (this.kind === "time") {
      found.push(labelled("follow", this.followList), element("label", {}, this.turning, "and turn with it"));
    }
    const first = SCALES.indexOf(1);
    const scale = element("input", { type: "range", min: 0, max: SCALES.length - 1, step: 1, value: first, ariaLabel: "scale" });
    const shown = element("output", {}, "× 1");
    scale.oninput = () => {
      this.enlarge = SCALES[Number(scale.value)];
      shown.textContent = `× ${this.enlarge}`;
      this.show();
    };
    const flexible = this.structure.beams.length || this.structure.bodies.some((body) => body.meshes.some((mesh) => mesh.rest));
    const label = this.kind === "modes" ? "amplitude" : "deflection";
    if (flexible || this.kind === "modes") {
      const group = labelled(label, scale, shown);
      group.title = this.kind === "modes"
        ? "A mode has no size: this one is chosen for the eye."
        : "Enlarges the deflection of each beam, shell and flexible body from its own undeformed shape. What it carries moves with it, except by the joints of closed loops, which seem to open.";
      found.push(group);
    }
    const view = (text, along, title) => element("button", { type: "button", title, onclick: () => this.fit(along) }, text);
    found.push(element(
      "div", { className: "views right" }, 
      element("button", { type: "button", title: "See the whole motion; again: fill the view with the structure as it is now (f)", onclick: () => this.fitNext() }, "fit"),
      view("x", "x", "From x"), view("y", "y", "From −y"), view("z", "z", "From above"),
    ));
    return found;
  }

  speeds() {
    const list = element("select", { id: "speed", ariaLabel: "speed", onchange: () => (this.speed = this.first_speed * Number(list.value)) });
    for (const factor of [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10]) {
      list.append(new Option(`${shortNumber(this.first_speed * factor, 2)} s/s`, String(factor)));
    }
    list.value = "1";
    return list;
  }

  /** The scales of quantities; stresses of shells also by the side that is seen. */
  scales() {
    const ofShells = new Set(this.structure.bodies.flatMap((body) => body.meshes.flatMap((mesh) => Object.keys((mesh.elements && mesh.colours) || {}))));
    return this.scene.quantities.flatMap((each) => [new ColourScale(each), ...(ofShells.has(each.name) ? [new ColourScale(each, true)] : [])]);
  }

  /** Colours that do not move: [name, the colours of every part by what the legend calls it]. */
  paints() {
    const parts = [...this.structure.bodies, ...this.structure.beams].filter((part) => !part.fixed);
    const found = [["part", (part) => part.name], ["group", (part) => part.group_name]].filter(([, of]) => new Set(parts.map(of)).size > 1);
    return parts.some((part) => part.shell) ? [...found, ["side of shells", null]] : found;
  }

  colour(name) {
    const parts = [...this.structure.bodies, ...this.structure.beams];
    const [, of] = this.paints().find(([each]) => each === name) || [null, undefined];
    this.scale = this.scales().find((each) => each.name === name) || null;
    this.colours.value = this.scale || of !== undefined ? name : "";
    let legend = this.scale ? this.scale.legend() : null;
    for (const part of parts) part.paint(null);
    if (of === null) {
      for (const part of parts) if (part.shell) part.paint(SIDES);
      legend = listedColours("side of shells", new Map([["in front, along the normal", SIDES[1]], ["behind", SIDES[0]]]));
    } else if (of) {
      const moving = parts.filter((part) => !part.fixed);
      const colours = new Map([...new Set(moving.map(of))].map((each, k) => [each, colourOf(k)]));
      for (const part of moving) part.paint([colours.get(of(part)), colours.get(of(part))]);
      legend = listedColours(name, colours);
    }
    this.legend.replaceChildren(...(legend ? [legend] : []));
    this.show();
  }

  follow(name = this.followList.value) {
    this.followList.value = name;
    const body = this.structure.bodies.find((each) => each.name === name);
    this.viewer.follow(name === "*" ? "structure" : body || null, this.turning.checked);
    this.show();
  }
}

/** The frequency of a mode, or the critical load factor of a buckling mode. */
function valueOfMode(mode) {
  return "factor" in mode ? `load factor ${shortNumber(mode.factor, 5)}` : `${shortNumber(mode.frequency, 5)} Hz`;
}

/** A label before controls. */
function labelled(text, ...controls) {
  return element("label", {}, element("span", {}, text), ...controls);
}
