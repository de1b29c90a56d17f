// The moving structure: meshes of bodies and beams, placed at a blend of two output times.

const [FRONT, BACK] = [0, 1]; // sides of a material in three.js
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

/** A body or a shell: meshes that move with it, deformed by shapes and coordinates, or by deflections of nodes. */
class BodyPart {
  constructor(data, bytes) {
    this.name = data.name;
    this.fixed = data.fixed;
    this.pose = { position: arrayOf(data.position, bytes), quaternion: arrayOf(data.quaternion, bytes) };
    this.group = new libraries.Group();
    this.meshes = data.meshes.map((mesh) => this.made(mesh, data, bytes));
    this.shell = this.meshes.some((mesh) => mesh.elements);
  }

  made(data, body, bytes) {
    const nodes = Float32Array.from(arrayOf(data.points, bytes).data);
    const corners = integersOf(data.triangles || data.lines, bytes);
    const flexible = Boolean(data.shapes || data.deflection);
    const plain = flexible ? PLAIN.flexible : body.marker ? PLAIN.marker : PLAIN.body;
    const made = { plain, nodes };
    if (data.elements) return this.shellMesh(made, data, corners, bytes);
    const geometry = new libraries.BufferGeometry();
    geometry.setAttribute("position", new libraries.BufferAttribute(nodes, 3));
    geometry.setIndex(new libraries.BufferAttribute(corners, 1));
    if (body.smooth) geometry.computeVertexNormals();
    const mesh = data.lines
      ? new libraries.LineSegments(geometry, new libraries.LineBasicMaterial({ color: plain }))
      : new libraries.Mesh(geometry, material(plain, { flatShading: !body.smooth }));
    made.sides = [this.added(mesh)];
    if (!flexible) {
      if (!body.smooth && !body.many) this.group.add(outlined(geometry));
      return made;
    }
    mesh.frustumCulled = false;
    geometry.setAttribute("color", new libraries.BufferAttribute(new Float32Array(nodes.length).fill(1), 3));
    const [shapes, coordinates] = [arrayOf(data.shapes, bytes), arrayOf(data.coordinates, bytes)];
    const colours = coloursOf(data, bytes);
    return { ...made, rest: nodes.slice(), shapes, coordinates, colours, numbers: integersOf(data.numbers, bytes) };
  }

  /** A shell: triangles with corners of their own, seen behind its normal and in front as two meshes of one place. */
  shellMesh(made, data, corners, bytes) {
    const place = new libraries.BufferAttribute(new Float32Array(3 * corners.length), 3);
    const sides = [BACK, FRONT].map((side) => {
      const geometry = new libraries.BufferGeometry().setAttribute("position", place);
      geometry.setAttribute("color", new libraries.BufferAttribute(new Float32Array(3 * corners.length).fill(1), 3));
      const mesh = this.added(new libraries.Mesh(geometry, material(made.plain, { side })));
      mesh.frustumCulled = false;
      return mesh;
    });
    const colours = coloursOf(data, bytes);
    const deflection = arrayOf(data.deflection, bytes);
    return { ...made, sides, corners, colours, deflection, rest: made.nodes.slice(), elements: integersOf(data.elements, bytes) };
  }

  added(mesh) {
    mesh.userData.name = this.name;
    this.group.add(mesh);
    return mesh;
  }

  /** Gives the part one colour, or two to the sides of a shell; null: its own. */
  paint(colours) {
    for (const each of this.meshes) {
      each.painted = colours;
      if (!each.rest) each.sides.forEach((mesh) => setColoured(mesh, false, colours ? colours[1] : each.plain));
    }
  }

  show(i, j, w, enlarge, scale) {
    blendPose(this.pose, i, j, w, this.group.position, this.group.quaternion);
    for (const flexible of this.meshes) if (flexible.rest) this.deform(flexible, i, j, w, enlarge, scale);
  }

  deform(flexible, i, j, w, enlarge, scale) {
    const { sides, nodes, rest, plain, painted } = flexible;
    const moved = this.moved(flexible, i, j, w);
    for (let n = 0; n < rest.length; n++) nodes[n] = rest[n] + enlarge * moved[n];
    if (flexible.corners) spread(nodes, flexible.corners, sides[0].geometry.attributes.position.array);
    sides[0].geometry.attributes.position.needsUpdate = true;
    const values = scale && flexible.colours[scale.quantity];
    const coloured = Boolean(values) || (scale !== null && scale.name === "deflection");
    sides.forEach((mesh, side) => setColoured(mesh, coloured, painted ? painted[side] : plain));
    if (!coloured) return;
    sides.forEach((mesh, side) => {
      const colours = mesh.geometry.attributes.color;
      if (values && flexible.elements) this.colourElements(flexible, values, i, j, w, scale, side, colours.array);
      else if (values) for (let n = 0; n < values.columns; n++) scale.write(this.ofNode(values, n, i, j, w), colours.array, 3 * n);
      else colourNodes(moved, flexible.corners, scale, colours.array);
      colours.needsUpdate = true;
    });
  }

  /** The colours of the elements on one side; by default the larger value of both sides. */
  colourElements({ elements }, values, i, j, w, scale, side, colours) {
    for (let k = 0; k < elements.length; k++) {
      const both = this.ofElement(values, elements[k], i, j, w);
      const value = scale.bySide ? both[side] : Math.max(...both);
      for (let corner = 0; corner < 3; corner++) scale.write(value, colours, 9 * k + 3 * corner);
    }
  }

  /** The values behind the normal and in front of an element between output times. */
  ofElement(values, element, i, j, w) {
    return [0, 1].map((side) => {
      const at = (row) => values.data[row * values.columns + 2 * element + side];
      return at(i) + w * (at(j) - at(i));
    });
  }

  /** The value of a node between output times. */
  ofNode({ data, columns }, node, i, j, w) {
    const [first, second] = [data[i * columns + node], data[j * columns + node]];
    return first + w * (second - first);
  }

  moved(flexible, i, j, w) {
    const size = flexible.rest.length;
    return flexible.deflection ? this.blended(flexible.deflection.data, size, i, j, w) : this.shaped(flexible, size, i, j, w);
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

  /** The node nearest to a point in the axes of the part, and the element of a shell that was hit; none of a rigid body. */
  nearest(point, hit) {
    const flexible = this.meshes.find((each) => each.rest && each.sides.includes(hit.object));
    if (!flexible) return { node: null };
    const found = { node: nearestOf(flexible.nodes, point) };
    return flexible.elements ? { ...found, element: flexible.elements[hit.faceIndex] } : found;
  }

  /** The number of a node in the model. */
  numberOf(node) {
    const { numbers } = this.meshes.find((each) => each.rest);
    return numbers ? numbers[node] : node;
  }

  /** Where a node, or the reference point, is drawn, in the axes of the group. */
  shownAt(node) {
    const point = new libraries.Vector3();
    return node === null ? point : point.fromArray(this.meshes.find((each) => each.rest).nodes, 3 * node);
  }

  /** Place, and of a node deflection and values by name, at a blend of output times, in the axes of the scene; relative to
   * the common path. */
  truly(pick, i, j, w) {
    const [place, axes] = [new libraries.Vector3(), new libraries.Quaternion()];
    blendPose(this.pose, i, j, w, place, axes);
    if (pick.node === null) return { place, deflection: null, values: {} };
    const flexible = this.meshes.find((each) => each.rest);
    const deflection = new libraries.Vector3().fromArray(this.moved(flexible, i, j, w), 3 * pick.node);
    const local = new libraries.Vector3().fromArray(flexible.rest, 3 * pick.node).add(deflection);
    const element = pick.element ?? this.elementAt(pick.node);
    const values = Object.fromEntries(Object.entries(flexible.colours).map(([name, each]) => flexible.elements
      ? [`${name}, element ${element}: back | front`, { name, values: this.ofElement(each, element, i, j, w) }]
      : [name, { name, values: [this.ofNode(each, pick.node, i, j, w)] }]));
    return { place: place.add(local.applyQuaternion(axes)), deflection, values };
  }

  /** An element of a shell at a node. */
  elementAt(node) {
    const { elements, corners } = this.meshes.find((each) => each.rest);
    return elements ? elements[Math.floor(corners.indexOf(node) / 3)] : null;
  }

  /** The pose of a node in the axes of the carrier, without its rotation. */
  sectionAt(node, i, j, w, enlarge) {
    const flexible = this.meshes.find((each) => each.rest);
    const moved = new libraries.Vector3().fromArray(this.moved(flexible, i, j, w), 3 * node);
    return new libraries.Matrix4().setPosition(moved.multiplyScalar(enlarge).add(new libraries.Vector3().fromArray(flexible.rest, 3 * node)));
  }
}

/** The arrays by which a mesh is coloured, by quantity. */
function coloursOf(data, bytes) {
  return Object.fromEntries(Object.entries(data.colours || {}).map(([name, each]) => [name, arrayOf(each, bytes)]));
}

/** The place of each corner, from those of the nodes. */
function spread(nodes, corners, places) {
  for (let k = 0; k < corners.length; k++) {
    for (let axis = 0; axis < 3; axis++) places[3 * k + axis] = nodes[3 * corners[k] + axis];
  }
}

/** Colours by the size of deflections; corners: the node of each point, where they differ. */
function colourNodes(moved, corners, scale, colours) {
  for (let k = 0; 3 * k < colours.length; k++) {
    const n = 3 * (corners ? corners[k] : k);
    scale.write(Math.hypot(moved[n], moved[n + 1], moved[n + 2]), colours, 3 * k);
  }
}

/** The number of the point nearest to another one. */
function nearestOf(points, point) {
  let [found, least] = [0, Infinity];
  for (let k = 0; 3 * k < points.length; k++) {
    const size = Math.hypot(points[3 * k] - point.x, points[3 * k + 1] - point.y, points[3 * k + 2] - point.z);
    if (size < least) [found, least] = [k, size];
  }
  return found;
}

/** Lines along the edges of a body. */
function outlined(geometry) {
  const lines = new libraries.LineBasicMaterial({ color: 0x30363d, transparent: true, opacity: 0.35 });
  return new libraries.LineSegments(new libraries.EdgesGeometry(geometry, 30), lines);
}

/** Switches a mesh between the colours of its corners and one colour. */
function setColoured(mesh, coloured, plain) {
  const colour = coloured ? "#ffffff" : plain;
  if (mesh.userData.colour === colour) return;
  mesh.userData.colour = colour;
  mesh.material.color.set(colour);
  if (mesh.material.vertexColors === coloured) return;
  mesh.material.vertexColors = coloured;
  mesh.material.needsUpdate = true;
}

/** A rod to an attachment, or the symbol of a wheel, thruster or sensor, which is seen through bodies. */
class Fitting {
  constructor(data, bytes) {
    this.data = data;
    const geometry = new libraries.BufferGeometry();
    geometry.setAttribute("position", new libraries.BufferAttribute(Float32Array.from(arrayOf(data.points, bytes).data), 3));
    geometry.setIndex(new libraries.BufferAttribute(integersOf(data.triangles, bytes), 1));
    this.mesh = new libraries.Mesh(geometry, material(PLAIN[data.drawn]));
    this.mesh.matrixAutoUpdate = false;
    if (data.drawn === "rod") return;
    this.through = new libraries.Mesh(geometry, material(PLAIN[data.drawn], { depthTest: false, transparent: true, opacity: 0.45 }));
    this.mesh.add(this.through);
  }
}

/** All bodies and beams of a scene, in the group ``moving``, with a common path of positions. */
class Structure {
  constructor(scene, bytes) {
    this.scene = scene;
    const many = scene.bodies.length > MANY;
    this.bodies = scene.bodies.map((body) => new BodyPart({ ...body, many }, bytes));
    this.beams = scene.beams.map((beam) => new BeamPart(beam, this.bodies, bytes));
    [...this.bodies, ...this.beams].forEach((part, k) => {
      part.path = scene.parts[k].path;
      part.group_name = scene.parts[k].group;
    });
    this.carriers = new Carriers(scene.carriers, this.bodies, this.beams);
    this.moving = new libraries.Group();
    for (const part of [...this.bodies, ...this.beams]) this.moving.add(part.group);
    this.fittings = scene.fittings.map((each) => new Fitting(each, bytes));
    for (const each of this.fittings) this.moving.add(each.mesh);
    const ends = new libraries.BufferAttribute(new Float32Array(6 * scene.links.length), 3);
    const geometry = new libraries.BufferGeometry().setAttribute("position", ends);
    this.links = new libraries.LineSegments(geometry, new libraries.LineBasicMaterial({ color: PLAIN.flexible }));
    this.links.frustumCulled = false;
    if (scene.links.length) this.moving.add(this.links);
  }

  /** The shown pose of a part, or of the section at a node of a beam. */
  poseAt({ part, node }, i, j, w, enlarge) {
    const shown = [...this.bodies, ...this.beams][part];
    const pose = poseOf(shown.group);
    return node === null ? pose : pose.multiply(shown.sectionAt(node, i, j, w, enlarge));
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
    for (const each of this.fittings) each.mesh.matrix.copy(this.poseAt(each.data, i, j, w, enlarge));
    const ends = this.links.geometry.attributes.position;
    const { position } = this.moving; // points in space do not follow the common path
    this.scene.links.flat().forEach((end, k) => {
      const place = new libraries.Vector3(...end.at);
      if (end.part === null) place.sub(position);
      else place.applyMatrix4(this.poseAt(end, i, j, w, enlarge));
      ends.setXYZ(k, ...place.toArray());
    });
    ends.needsUpdate = true;
  }
}
