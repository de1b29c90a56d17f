// The three-dimensional view: camera, light, ground grid, triad, names under the pointer.

const VIEWING_ANGLE = 28; // degrees
const MARGIN = 1.12; // around the structure
const LOOKS = 16; // output times that determine the space that it takes
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
    place.append(this.pointed);
    this.followed = null; // a body, or "structure"
    this.turning = false;
    this.waiting = false;
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
  }

  /** Looks at some output times for the space that the structure takes, and puts the grid below it. */
  measure(show) {
    this.box = new libraries.Box3();
    const last = this.structure.scene.times.length - 1;
    const count = Math.min(last, this.structure.beams.length + this.structure.bodies.length > 150 ? 2 : LOOKS);
    for (let look = 0; look <= count; look++) {
      show(count ? Math.round((look * last) / count) : 0);
      this.carry();
      this.world.updateMatrixWorld(true);
      this.box.expandByObject(this.structure.moving, true);
    }
    if (this.box.isEmpty()) this.box.setFromCenterAndSize(new libraries.Vector3(), new libraries.Vector3(1, 1, 1));
    this.grid.position.z = Math.min(this.box.min.z, -0.25 * this.extent) - 0.05 * this.extent;
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
    this.draw();
  }

  /** Sees the whole structure, from the direction of femb picture or along an axis: "x", "y" or "z". */
  fit(along = "") {
    const [a, e] = { x: [0, 0], y: [-90, 0], z: [-90, 89.9] }[along] || [-60, 22];
    const [azimuth, elevation] = [(a * Math.PI) / 180, (e * Math.PI) / 180];
    const level = Math.cos(elevation);
    const towards = new libraries.Vector3(level * Math.cos(azimuth), level * Math.sin(azimuth), Math.sin(elevation));
    const centre = this.box.getCenter(new libraries.Vector3());
    this.camera.position.copy(centre).add(towards);
    this.camera.lookAt(centre);
    const back = this.camera.quaternion.clone().invert();
    const slope = Math.tan((0.5 * VIEWING_ANGLE * Math.PI) / 180);
    let distance = 0.5 * this.extent;
    for (let corner = 0; corner < 8; corner++) {
      const part = (axis, bit) => ((corner >> bit) & 1 ? this.box.max[axis] : this.box.min[axis]);
      const seen = new libraries.Vector3(part("x", 0), part("y", 1), part("z", 2)).sub(centre).applyQuaternion(back);
      const wide = Math.max(Math.abs(seen.y), Math.abs(seen.x) / this.camera.aspect);
      distance = Math.max(distance, (MARGIN * wide) / slope + seen.z);
    }
    this.controls.target.copy(centre);
    this.camera.position.copy(centre).addScaledVector(towards, distance);
    this.controls.update();
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

  point(event) {
    const box = this.renderer.domElement.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const caster = new libraries.Raycaster();
    caster.setFromCamera(new libraries.Vector2((2 * x) / box.width - 1, 1 - (2 * y) / box.height), this.camera);
    const meshes = [...this.structure.bodies, ...this.structure.beams].flatMap((part) => part.group.children);
    for (const mesh of meshes) if (mesh.userData.name) mesh.geometry.boundingSphere = null; // deformed since
    const [hit] = event.buttons ? [] : caster.intersectObjects(meshes.filter((mesh) => mesh.userData.name), false);
    this.pointed.hidden = !hit;
    if (!hit) return;
    this.pointed.textContent = hit.object.userData.name;
    this.pointed.style.transform = `translate(${x + 14}px, ${y + 12}px)`;
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
