// The three-dimensional view: camera, light, ground grid, triad, names under the pointer.

const VIEWING_ANGLE = 28; // degrees
const MARGIN = 1.12; // around the structure
const LOOKS = 16; // output times that determine the space that it takes
const MOST_POINTS = 20000; // of a mesh, that are looked at for this
const LIGHT_FROM = [0.5, 0.8, 1.4]; // relative to the camera: right, up, back

class Viewer {
  constructor(structure, place) {
    this.structure = structure;
    this.place = place;
    this.extent = structure.scene.extent;
    this.renderer = new libraries.WebGLRenderer({ antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio || 1));
    place.prepend(this.renderer.domElement);
    this.space = new libraries.Scene();
    this.world = new libraries.Group(); // all that stands still in the frame of the results
    this.world.add(structure.moving);
    this.space.add(this.world);
    this.camera = new libraries.PerspectiveCamera(VIEWING_ANGLE, 1, 0.001 * this.extent, 200 * this.extent);
    this.camera.up.set(0, 0, 1);
    this.space.add(this.camera);
    this.controls = new libraries.OrbitControls(this.camera, this.renderer.domElement);
    this.controls.enableDamping = false;
    this.controls.addEventListener("change", () => this.draw());
    this.addLight();
    this.addGrid();
    this.triad = new Triad(place);
    this.pointed = element("div", { className: "pointed", hidden: true });
    this.marks = new Marks(place);
    place.append(this.pointed);
    this.followed = null; // a body, or "structure"
    this.turning = false;
    this.waiting = false;
    this.framed = null; // how the view was fitted, until it is turned by hand
    this.controls.addEventListener("start", () => (this.framed = null));
    this.renderer.domElement.addEventListener("pointermove", (event) => this.point(event));
    this.renderer.domElement.addEventListener("pointerleave", () => (this.pointed.hidden = true));
    new ResizeObserver(() => this.resize()).observe(place);
    this.resize();
  }

  addLight() {
    this.space.add(new libraries.HemisphereLight(0xffffff, 0x8a93a0, 1.9));
    const light = new libraries.DirectionalLight(0xffffff, 2.1);
    light.position.set(...LIGHT_FROM);
    this.camera.add(light);
    this.camera.add(light.target);
    light.target.position.set(0, 0, -1);
  }

  /** A grid below the structure, in steps of 1, 2 or 5 times a power of ten. */
  addGrid() {
    const rough = this.extent / 4;
    const power = 10 ** Math.floor(Math.log10(rough));
    this.cell = power * [1, 2, 5, 10].find((each) => each * power >= rough);
    const cells = 24;
    const half = 12; // cells to each side
    const ends = [];
    for (let line = -half; line <= half; line++) {
      // A piece for each cell: drivers may drop a line that begins behind the camera.
      for (let k = -half; k < half; k++) ends.push(line, k, 0, line, k + 1, 0, k, line, 0, k + 1, line, 0);
    }
    const points = new libraries.BufferAttribute(Float32Array.from(ends, (x) => x * this.cell), 3);
    const material = new libraries.LineBasicMaterial({ transparent: true, depthWrite: false, opacity: 0.55 });
    this.grid = new libraries.LineSegments(new libraries.BufferGeometry().setAttribute("position", points), material);
    this.world.add(this.grid);
    this.place.append(element("div", { className: "cell-size", textContent: `grid ${Number(this.cell.toPrecision(1))} m` }));
  }

  /** Looks at the structure in all positions that show(k) sets for k < count, for the space that it takes. */
  measure(count, show) {
    this.seen = [];
    const point = new libraries.Vector3();
    let lowest = Infinity;
    for (let look = 0; look < count; look++) {
      show(look);
      this.carry();
      this.world.updateMatrixWorld(true);
      const parts = [...this.structure.bodies, ...this.structure.beams].flatMap((part) => part.group.children);
      const fittings = this.structure.fittings.map((each) => each.mesh);
      for (const mesh of [...parts.filter((each) => each.userData.name), ...fittings, this.structure.links]) {
        const places = mesh.geometry.attributes.position;
        const every = Math.max(1, Math.floor(places.count / MOST_POINTS));
        for (let k = 0; k < places.count; k += every) {
          point.fromBufferAttribute(places, k).applyMatrix4(mesh.matrixWorld);
          this.seen.push(point.x, point.y, point.z);
          lowest = Math.min(lowest, point.z);
        }
      }
    }
    this.grid.position.z = Math.min(lowest, -0.25 * this.extent) - 0.05 * this.extent;
  }

  theme() {
    this.grid.material.color.set(themeColour("--grid"));
    this.draw();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (!width || !height) return;
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (this.framed !== null) this.frame(this.framed);
    this.draw();
  }

  /** Sees all that was measured, as large as it fits, from the direction of femb picture or along "x", "y" or "z". */
  frame(along = "") {
    const [a, e] = { x: [0, 0], y: [-90, 0], z: [-90, 89.9] }[along] || [-60, 22];
    const [azimuth, elevation] = [(a * Math.PI) / 180, (e * Math.PI) / 180];
    const level = Math.cos(elevation);
    const back = new libraries.Vector3(level * Math.cos(azimuth), level * Math.sin(azimuth), Math.sin(elevation));
    this.camera.position.copy(back);
    this.camera.lookAt(0, 0, 0);
    const [right, up] = [[1, 0, 0], [0, 1, 0]].map((axis) => new libraries.Vector3(...axis).applyQuaternion(this.camera.quaternion));
    const slope = Math.tan((0.5 * VIEWING_ANGLE * Math.PI) / 180) / MARGIN;
    const slopes = [slope * this.camera.aspect, slope];
    // A point (x, z) is in view from (a, d) where |x - a| <= slope (d - z): the largest of slope z + x and slope z - x.
    const most = [[-Infinity, -Infinity], [-Infinity, -Infinity]];
    let [near, far] = [-Infinity, Infinity];
    for (let k = 0; k < this.seen.length; k += 3) {
      const part = (axis) => axis.x * this.seen[k] + axis.y * this.seen[k + 1] + axis.z * this.seen[k + 2];
      const depth = part(back);
      [near, far] = [Math.max(near, depth), Math.min(far, depth)];
      for (const [n, x] of [part(right), part(up)].entries()) {
        most[n][0] = Math.max(most[n][0], slopes[n] * depth + x);
        most[n][1] = Math.max(most[n][1], slopes[n] * depth - x);
      }
    }
    const distance = Math.max(...most.map(([p, q], n) => (p + q) / (2 * slopes[n])), near + 0.1 * this.extent);
    const at = (depth) => new libraries.Vector3()
      .addScaledVector(right, 0.5 * (most[0][0] - most[0][1]))
      .addScaledVector(up, 0.5 * (most[1][0] - most[1][1])).addScaledVector(back, depth);
    this.controls.target.copy(at(0.5 * (near + far)));
    this.camera.position.copy(at(distance));
    this.controls.update();
    this.framed = along;
    this.draw();
  }

  /** Keeps a body, or the whole structure, at its place on the screen; turning: and its attitude. */
  follow(what, turning) {
    this.followed = what;
    this.turning = turning;
  }

  /** Moves the world so that what is followed stays where it was when the results begin. */
  carry() {
    const { world, followed, structure } = this;
    world.position.set(0, 0, 0);
    world.quaternion.identity();
    const path = structure.moving.position;
    // Its cells are alike: the grid keeps up with what is followed.
    const near = (x) => (followed === null ? 0 : Math.round(x / this.cell) * this.cell);
    this.grid.position.x = near(path.x);
    this.grid.position.y = near(path.y);
    if (followed === null) return;
    if (followed === "structure") {
      world.position.copy(path).negate();
      return;
    }
    const place = followed.group.position.clone().add(path);
    const start = followed.pose;
    const [p, q] = [start.position.data, start.quaternion.data];
    const anchor = new libraries.Vector3(p[0], p[1], p[2]);
    if (this.turning) {
      const first = new libraries.Quaternion(q[1], q[2], q[3], q[0]);
      world.quaternion.copy(first.multiply(followed.group.quaternion.clone().invert()));
    }
    world.position.copy(anchor.sub(place.applyQuaternion(world.quaternion)));
  }

  /** What is under the pointer: {part, node, element}, or null. */
  under(event) {
    const parts = [...this.structure.bodies, ...this.structure.beams];
    const meshes = parts.flatMap((part) => part.group.children).filter((mesh) => mesh.userData.name);
    for (const mesh of meshes) mesh.geometry.boundingSphere = null; // deformed since
    const hit = this.cast(event, meshes);
    if (!hit) return null;
    const part = parts.find((each) => each.group === hit.object.parent);
    const local = part.group.worldToLocal(hit.point.clone());
    return { part, ...part.nearest(local, hit) };
  }

  /** The first of some meshes under the pointer. */
  cast(event, meshes) {
    const box = this.renderer.domElement.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const caster = new libraries.Raycaster();
    caster.setFromCamera(new libraries.Vector2((2 * x) / box.width - 1, 1 - (2 * y) / box.height), this.camera);
    return caster.intersectObjects(meshes, false)[0];
  }

  /** The name of a symbol under the pointer, which is seen through bodies; else that of what is there. */
  named(event) {
    const symbols = this.structure.fittings.filter((each) => each.through);
    const hit = this.cast(event, symbols.map((each) => each.mesh));
    if (hit) return symbols.find((each) => each.mesh === hit.object).data.title;
    const found = this.under(event);
    return found && nameOfPick(found);
  }

  point(event) {
    const name = event.buttons ? null : this.named(event);
    this.pointed.hidden = !name;
    if (!name) return;
    const box = this.renderer.domElement.getBoundingClientRect();
    this.pointed.textContent = name;
    this.pointed.style.transform = `translate(${event.clientX - box.left + 14}px, ${event.clientY - box.top + 12}px)`;
  }

  /** Draws with the next image of the browser, once for all changes until then. */
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.render());
  }

  render() {
    this.waiting = false;
    this.carry();
    this.renderer.render(this.space, this.camera);
    this.triad.draw(this.camera, this.world);
    this.marks.draw(this.camera, this.place);
  }
}

/** Marks at what was picked, and a line between two of them. */
class Marks {
  constructor(place) {
    this.picks = [];
    this.make = (tag, attributes) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      return made;
    };
    this.picture = this.make("svg", { class: "marks" });
    place.append(this.picture);
  }

  draw(camera, place) {
    const points = this.picks.map(({ part, node }) => {
      part.group.updateWorldMatrix(true, false);
      const seen = part.shownAt(node).applyMatrix4(part.group.matrixWorld).project(camera);
      return [(0.5 + 0.5 * seen.x) * place.clientWidth, (0.5 - 0.5 * seen.y) * place.clientHeight];
    });
    const [first, second] = points;
    const line = second ? [this.make("line", { x1: first[0], y1: first[1], x2: second[0], y2: second[1] })] : [];
    const circles = points.map(([cx, cy], k) => this.make("circle", { cx, cy, r: 5, class: `mark-${k}` }));
    this.picture.replaceChildren(...line, ...circles);
  }
}

/** The axes of the frame of the results in a corner of the view. */
class Triad {
  constructor(place) {
    const make = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
    this.picture = make("svg");
    this.picture.setAttribute("class", "triad");
    this.picture.setAttribute("viewBox", "-40 -40 80 80");
    this.axes = ["x", "y", "z"].map((name) => {
      const [group, line, text] = [make("g"), make("line"), make("text")];
      group.setAttribute("class", `axis-${name}`);
      text.textContent = name;
      group.append(line, text);
      this.picture.append(group);
      return { group, line, text };
    });
    place.append(this.picture);
  }

  draw(camera, world) {
    const back = camera.quaternion.clone().invert().multiply(world.quaternion);
    const drawn = this.axes.map((axis, k) => {
      const tip = new libraries.Vector3(Number(k === 0), Number(k === 1), Number(k === 2)).applyQuaternion(back);
      for (const [name, value] of [["x2", 26 * tip.x], ["y2", -26 * tip.y]]) axis.line.setAttribute(name, value);
      for (const [name, value] of [["x", 34 * tip.x], ["y", -34 * tip.y + 4]]) axis.text.setAttribute(name, value);
      return { axis, depth: tip.z };
    });
    drawn.sort((first, second) => first.depth - second.depth);
    this.picture.append(...drawn.map((each) => each.axis.group));
  }
}
