// Beams: the section's outline swept along the stations, which are deformed in the axes of the carrier.

class BeamPart {
  constructor(data, bodies, bytes) {
    this.name = data.name;
    this.segments = data.segments;
    this.elements = data.elements;
    this.carrier = data.carrier === null
      ? { position: arrayOf(data.position, bytes), quaternion: arrayOf(data.quaternion, bytes) }
      : bodies[data.carrier].pose;
    for (const word of ["outline", "rest", "restAxes", "deflection", "turn"]) this[word] = arrayOf(data[word], bytes);
    this.colourArrays = {};
    for (const [name, reference] of Object.entries(data.colours)) this.colourArrays[name] = arrayOf(reference, bytes);
    this.corners = this.outline.rows;
    this.stations = this.rest.rows;
    this.centres = new Float32Array(3 * this.stations); // as drawn, in the axes of the carrier
    this.painted = null;
    this.group = new libraries.Group();
    this.mesh = this.made(integersOf(data.lid, bytes));
    this.group.add(this.mesh);
    this.turned = new libraries.Quaternion();
    this.axes = new libraries.Quaternion();
    this.p = new libraries.Vector3();
    this.y = new libraries.Vector3();
    this.z = new libraries.Vector3();
  }

  made(lid) {
    const count = this.stations * this.corners;
    const geometry = new libraries.BufferGeometry();
    for (const word of ["position", "color"]) {
      const values = new libraries.BufferAttribute(new Float32Array(3 * count).fill(word === "color" ? 1 : 0), 3);
      geometry.setAttribute(word, values.setUsage(libraries.DynamicDrawUsage));
    }
    geometry.setIndex(this.triangles(lid));
    const mesh = new libraries.Mesh(geometry, material(PLAIN.beam));
    mesh.frustumCulled = false;
    mesh.userData.name = this.name;
    return mesh;
  }

  /** Corners of the triangles around the beam, and of both ends. */
  triangles(lid) {
    const m = this.corners;
    const found = [];
    for (let e = 0; e < this.elements; e++) {
      for (let s = 0; s < this.segments; s++) {
        const near = (e * (this.segments + 1) + s) * m;
        for (let i = 0; i < m; i++) {
          const j = (i + 1) % m;
          found.push(near + i, near + j, near + m + j, near + i, near + m + j, near + m + i);
        }
      }
    }
    const last = (this.stations - 1) * m;
    for (let k = 0; k < lid.length; k += 3) {
      found.push(lid[k + 2], lid[k + 1], lid[k], last + lid[k], last + lid[k + 1], last + lid[k + 2]);
    }
    return found;
  }

  show(i, j, w, enlarge, scale) {
    blendPose(this.carrier, i, j, w, this.group.position, this.group.quaternion);
    const points = this.mesh.geometry.attributes.position.array;
    const colours = this.mesh.geometry.attributes.color.array;
    const values = scale && (scale.name === "deflection" ? this.deflection : this.colourArrays[scale.quantity]);
    setColoured(this.mesh, Boolean(values), this.painted || PLAIN.beam);
    const { p, y, z, corners } = this;
    const outline = this.outline.data;
    for (let s = 0; s < this.stations; s++) {
      const [first, second] = [3 * (i * this.stations + s), 3 * (j * this.stations + s)];
      this.orient(s, first, second, w, enlarge);
      this.setPlace(s, first, second, w, enlarge);
      p.toArray(this.centres, 3 * s);
      for (let c = 0; c < corners; c++) {
        const at = 3 * (s * corners + c);
        const [a, b] = [outline[2 * c], outline[2 * c + 1]];
        points[at] = p.x + a * y.x + b * z.x;
        points[at + 1] = p.y + a * y.y + b * z.y;
        points[at + 2] = p.z + a * y.z + b * z.z;
      }
      if (!values) continue;
      const value = this.valueAt(values, scale, s, i, j, w);
      for (let c = 0; c < corners; c++) scale.write(value, colours, 3 * (s * corners + c));
    }
    this.mesh.geometry.attributes.position.needsUpdate = true;
    if (values) this.mesh.geometry.attributes.color.needsUpdate = true;
  }

  /** Gives the beam one colour; null: its own. */
  paint(colours) {
    this.painted = colours ? colours[1] : null;
  }

  stationOf(node) {
    return Math.min(node * (this.segments + 1), this.stations - 1);
  }

  /** The node nearest to a point in the axes of the carrier. */
  nearest(point) {
    const nodes = Float32Array.from({ length: 3 * (this.elements + 1) }, (_, k) => this.centres[3 * this.stationOf(Math.floor(k / 3)) + (k % 3)]);
    return { node: nearestOf(nodes, point) };
  }

  numberOf(node) {
    return node;
  }

  /** Where a node is drawn, in the axes of the carrier. */
  shownAt(node) {
    return new libraries.Vector3().fromArray(this.centres, 3 * this.stationOf(node));
  }

  /** Place, deflection and values by name of a node at a blend of output times, in the axes of the scene; relative to the
   * common path. Of two elements that meet there, both values, where they differ. */
  truly({ node }, i, j, w) {
    const [place, axes] = [new libraries.Vector3(), new libraries.Quaternion()];
    blendPose(this.carrier, i, j, w, place, axes);
    const s = this.stationOf(node);
    const [first, second] = [3 * (i * this.stations + s), 3 * (j * this.stations + s)];
    this.setPlace(s, first, second, w, 1);
    const deflection = this.p.clone().sub(new libraries.Vector3().fromArray(this.rest.data, 3 * s));
    place.add(this.p.clone().applyQuaternion(axes));
    const values = {};
    for (const [name, array] of Object.entries(this.colourArrays)) {
      const at = (row, k) => array.data[row * array.columns + k];
      const ends = [2 * node - 1, 2 * node].filter((k) => k >= 0 && k < 2 * this.elements);
      const found = ends.map((k) => at(i, k) + w * (at(j, k) - at(i, k)));
      const same = found.length === 2 && Math.abs(found[0] - found[1]) <= 1e-4 * Math.abs(found[0]);
      values[name] = { name, values: same ? found.slice(0, 1) : found };
    }
    return { place, deflection, values };
  }

  /** Sets the place of a station in the axes of the carrier. */
  setPlace(s, first, second, w, enlarge) {
    const [rest, d] = [this.rest.data, this.deflection.data];
    const part = (k) => rest[3 * s + k] + enlarge * (d[first + k] + w * (d[second + k] - d[first + k]));
    this.p.set(part(0), part(1), part(2));
  }

  /** The pose of the section at a node in the axes of the carrier. */
  sectionAt(node, i, j, w, enlarge) {
    const s = this.stationOf(node);
    const [first, second] = [3 * (i * this.stations + s), 3 * (j * this.stations + s)];
    this.orient(s, first, second, w, enlarge);
    this.setPlace(s, first, second, w, enlarge);
    return new libraries.Matrix4().compose(this.p, this.turned, new libraries.Vector3(1, 1, 1));
  }

  /** Sets the section's y and z axes at a station; an enlarged rotation stays across the enlarged centre line. */
  orient(s, first, second, w, enlarge) {
    const turn = this.turn.data;
    const part = (k) => {
      const change = turn[second + k] - turn[first + k];
      return turn[first + k] + (Math.abs(change) < 3 ? w * change : 0); // beyond, the vector has gone around
    };
    const [x, y, z] = [part(0), part(1), part(2)];
    const angle = Math.hypot(x, y, z);
    const larger = enlargedAngle(angle, enlarge);
    const factor = angle > 1e-12 ? Math.sin(0.5 * larger) / angle : 0;
    this.turned.set(factor * x, factor * y, factor * z, Math.cos(0.5 * larger));
    const axes = this.restAxes.data;
    this.axes.set(axes[4 * s + 1], axes[4 * s + 2], axes[4 * s + 3], axes[4 * s]);
    this.turned.multiply(this.axes).normalize();
    this.y.set(0, 1, 0).applyQuaternion(this.turned);
    this.z.set(0, 0, 1).applyQuaternion(this.turned);
  }

  /** The quantity at a station: linear along its element, and between output times. */
  valueAt(values, scale, s, i, j, w) {
    const width = values.columns;
    if (scale.name === "deflection") {
      const at = (row, k) => values.data[row * width + 3 * s + k];
      const part = (k) => at(i, k) + w * (at(j, k) - at(i, k));
      return Math.hypot(part(0), part(1), part(2));
    }
    const along = (s % (this.segments + 1)) / this.segments;
    const element = 2 * Math.floor(s / (this.segments + 1));
    const at = (row) => {
      const k = row * width + element;
      return values.data[k] + along * (values.data[k + 1] - values.data[k]);
    };
    const value = at(i) + w * (at(j) - at(i));
    return scale.low < 0 ? value : Math.abs(value); // modes swing to both sides
  }
}
