// The moving structure: meshes of bodies and beams, placed at a blend of two output times.

const MANY = 150; // bodies, of more than which no edges are drawn

/** Sets a position and a quaternion to those of a body or carrier between output times i and j. */
function blendPose(pose, i, j, w, position, quaternion) {
  const p = pose.position.data;
  const q = pose.quaternion.data;
  const [a, b, c, d] = [3 * i, 3 * j, 4 * i, 4 * j];
  position.set(p[a] + w * (p[b] - p[a]), p[a + 1] + w * (p[b + 1] - p[a + 1]), p[a + 2] + w * (p[b + 2] - p[a + 2]));
  const dot = q[c] * q[d] + q[c + 1] * q[d + 1] + q[c + 2] * q[d + 2] + q[c + 3] * q[d + 3];
  const sign = dot < 0 ? -1 : 1; // q and -q are one attitude
  const part = (k) => q[c + k] + w * (sign * q[d + k] - q[c + k]);
  quaternion.set(part(1), part(2), part(3), part(0)).normalize();
}

function material(colour, options = {}) {
  return new libraries.MeshStandardMaterial({
    color: colour, roughness: 0.72, metalness: 0.05, side: libraries.DoubleSide, flatShading: true, ...options,
  });
}

/** A body: meshes that move with it, those of a flexible one deformed by shapes and coordinates, or by deflections. */
class BodyPart {
  constructor(data, bytes) {
    this.name = data.name;
    this.fixed = data.fixed;
    this.pose = { position: arrayOf(data.position, bytes), quaternion: arrayOf(data.quaternion, bytes) };
    this.group = new libraries.Group();
    this.meshes = data.meshes.map((mesh) => this.made(mesh, data, bytes));
  }

  made(data, body, bytes) {
    const geometry = new libraries.BufferGeometry();
    const points = Float32Array.from(arrayOf(data.points, bytes).data);
    geometry.setAttribute("position", new libraries.BufferAttribute(points, 3));
    geometry.setIndex(new libraries.BufferAttribute(integersOf(data.triangles || data.lines, bytes), 1));
    const flexible = Boolean(data.shapes || data.deflection);
    const plain = flexible ? PLAIN.flexible : body.marker ? PLAIN.marker : PLAIN.body;
    if (body.smooth) geometry.computeVertexNormals();
    const mesh = data.lines
      ? new libraries.LineSegments(geometry, new libraries.LineBasicMaterial({ color: plain }))
      : new libraries.Mesh(geometry, material(plain, { flatShading: !body.smooth }));
    mesh.userData.name = this.name;
    this.group.add(mesh);
    if (!flexible) {
      if (!body.smooth && !body.many) this.group.add(outlined(geometry));
      return { mesh };
    }
    mesh.frustumCulled = false;
    const colours = new Float32Array(points.length).fill(1);
    geometry.setAttribute("color", new libraries.BufferAttribute(colours, 3));
    const rest = points.slice();
    if (data.deflection) return { mesh, colours, rest, deflection: arrayOf(data.deflection, bytes), plain };
    const [shapes, coordinates] = [arrayOf(data.shapes, bytes), arrayOf(data.coordinates, bytes)];
    return { mesh, colours, rest, shapes, coordinates, plain };
  }

  show(i, j, w, enlarge, scale) {
    blendPose(this.pose, i, j, w, this.group.position, this.group.quaternion);
    for (const flexible of this.meshes) if (flexible.rest) this.deform(flexible, i, j, w, enlarge, scale);
  }

  deform(flexible, i, j, w, enlarge, scale) {
    const { mesh, colours, rest, plain } = flexible;
    const points = mesh.geometry.attributes.position.array;
    const size = rest.length;
    const moved = flexible.deflection ? this.blended(flexible.deflection.data, size, i, j, w) : this.shaped(flexible, size, i, j, w);
    for (let n = 0; n < size; n++) points[n] = rest[n] + enlarge * moved[n];
    mesh.geometry.attributes.position.needsUpdate = true;
    const coloured = scale !== null && scale.name === "deflection";
    setColoured(mesh, coloured, plain);
    if (!coloured) return;
    for (let n = 0; n < size; n += 3) scale.write(Math.hypot(moved[n], moved[n + 1], moved[n + 2]), colours, n);
    mesh.geometry.attributes.color.needsUpdate = true;
  }

  /** Deflections of all points between output times. */
  blended(data, size, i, j, w) {
    const moved = new Float64Array(size);
    for (let n = 0; n < size; n++) moved[n] = data[i * size + n] + w * (data[j * size + n] - data[i * size + n]);
    return moved;
  }

  /** Deflections of all points by shapes times coordinates between output times. */
  shaped({ shapes, coordinates }, size, i, j, w) {
    const count = coordinates.columns;
    const moved = new Float64Array(size);
    for (let k = 0; k < count; k++) {
      const [first, second] = [coordinates.data[i * count + k], coordinates.data[j * count + k]];
      const amount = first + w * (second - first);
      if (amount === 0) continue;
      for (let n = 0; n < size; n++) moved[n] += amount * shapes.data[k * size + n];
    }
    return moved;
  }
}

/** Lines along the edges of a body. */
function outlined(geometry) {
  const lines = new libraries.LineBasicMaterial({ color: 0x30363d, transparent: true, opacity: 0.35 });
  return new libraries.LineSegments(new libraries.EdgesGeometry(geometry, 30), lines);
}

/** Switches a mesh between the colours of its corners and one colour. */
function setColoured(mesh, coloured, plain) {
  if (mesh.material.vertexColors === coloured) return;
  mesh.material.vertexColors = coloured;
  mesh.material.color.set(coloured ? "#ffffff" : plain);
  mesh.material.needsUpdate = true;
}

/** All bodies and beams of a scene, in the group ``moving``, with a common path of positions. */
class Structure {
  constructor(scene, bytes) {
    this.scene = scene;
    const many = scene.bodies.length > MANY;
    this.bodies = scene.bodies.map((body) => new BodyPart({ ...body, many }, bytes));
    this.beams = scene.beams.map((beam) => new BeamPart(beam, this.bodies, bytes));
    this.carriers = new Carriers(scene.carriers, this.bodies, this.beams);
    this.moving = new libraries.Group();
    for (const part of [...this.bodies, ...this.beams]) this.moving.add(part.group);
    const ends = new libraries.BufferAttribute(new Float32Array(6 * scene.links.length), 3);
    const geometry = new libraries.BufferGeometry().setAttribute("position", ends);
    this.links = new libraries.LineSegments(geometry, new libraries.LineBasicMaterial({ color: PLAIN.flexible }));
    this.links.frustumCulled = false;
    if (scene.links.length) this.moving.add(this.links);
  }

  /** Coordinate k of the common path between output times, from its start. */
  path(k, i, j, w) {
    const p = this.scene.path;
    return p[3 * i + k] + w * (p[3 * j + k] - p[3 * i + k]) - p[k];
  }

  /** How far the common path goes from its start, at most. */
  travel() {
    let most = 0;
    for (let k = 0; k < this.scene.times.length; k++) {
      most = Math.max(most, Math.hypot(...[0, 1, 2].map((axis) => this.path(axis, k, k, 0))));
    }
    return most;
  }

  /** Shows the structure at a blend of output times i and j; enlarge: of deflections; scale: of colours, or null. */
  show(i, j, w, enlarge, scale) {
    this.moving.position.set(this.path(0, i, j, w), this.path(1, i, j, w), this.path(2, i, j, w));
    for (const body of this.bodies) body.show(i, j, w, enlarge, scale);
    for (const beam of this.beams) beam.show(i, j, w, enlarge, scale);
    this.carriers.carry(i, j, w, enlarge);
    const ends = this.links.geometry.attributes.position;
    this.scene.links.flat().forEach((body, k) => ends.setXYZ(k, ...this.bodies[body].group.position.toArray()));
    ends.needsUpdate = true;
  }
}
