// Where deflections are enlarged, each part moves with the enlarged place of what carries it; see femb/reporting/scene.py.

/** Moves the groups of all carried parts, which show has placed at a blend of output times i and j. */
class Carriers {
  constructor(rows, bodies, beams) {
    this.rows = rows.map((row) => ({ ...row }));
    this.parts = [...bodies, ...beams];
    this.moves = new Map(); // of each carried part, from its true pose to that which is shown
  }

  carry(i, j, w, enlarge) {
    if (enlarge === 1) return;
    this.moves.clear();
    for (const row of this.rows) {
      const [part, on] = [this.parts[row.part], this.parts[row.on]];
      const move = (this.moves.get(row.on) || new libraries.Matrix4()).clone();
      if (row.at !== null) move.multiply(enlarged(on, row.at, i, j, w, enlarge));
      if (row.by !== null) move.multiply(enlarged(part, row.by, i, j, w, enlarge).invert());
      if (row.flexible === row.on) move.multiply(this.ofInterface(on, part, row.rest, enlarge));
      if (row.flexible === row.part) move.multiply(this.ofInterface(part, on, row.rest, enlarge).invert());
      this.moves.set(row.part, move);
    }
    // Only now: a move is computed from the true poses of both parts.
    for (const [number, move] of this.moves) {
      const { group } = this.parts[number];
      move.multiply(poseOf(group)).decompose(group.position, group.quaternion, new libraries.Vector3());
    }
  }

  /** The move of a body at an interface of a flexible body whose deformation is enlarged. */
  ofInterface(flexible, body, rest, enlarge) {
    const pose = poseOf(flexible.group);
    const back = pose.clone().invert();
    const local = back.clone().multiply(poseOf(body.group));
    const [p, q, unused] = [new libraries.Vector3(), new libraries.Quaternion(), new libraries.Vector3()];
    local.decompose(p, q, unused);
    const start = new libraries.Vector3(...rest);
    const axes = new libraries.Quaternion(rest[4], rest[5], rest[6], rest[3]);
    const turn = q.clone().multiply(axes.clone().invert());
    const sine = Math.hypot(turn.x, turn.y, turn.z);
    const angle = 2 * Math.atan2(sine, Math.abs(turn.w)) * (turn.w < 0 ? -1 : 1);
    const larger = enlargedAngle(angle, enlarge);
    const factor = sine > 1e-12 ? Math.sin(0.5 * larger) / sine : 0;
    turn.set(factor * turn.x, factor * turn.y, factor * turn.z, Math.cos(0.5 * larger));
    const place = p.sub(start).multiplyScalar(enlarge).add(start);
    const shown = new libraries.Matrix4().compose(place, turn.multiply(axes), new libraries.Vector3(1, 1, 1));
    return pose.multiply(shown).multiply(local.invert()).multiply(back);
  }
}

/** The move of a beam's section at a node, from its true pose to the enlarged one, with the carrier at its true pose. */
function enlarged(beam, node, i, j, w, enlarge) {
  const pose = poseOf(beam.group);
  const shown = beam.sectionAt(node, i, j, w, enlarge);
  const truly = beam.sectionAt(node, i, j, w, 1);
  return pose.clone().multiply(shown).multiply(truly.invert()).multiply(pose.invert());
}

function poseOf(group) {
  return new libraries.Matrix4().compose(group.position, group.quaternion, new libraries.Vector3(1, 1, 1));
}

/** An enlarged angle below 180 degrees: a rotated section stays across the enlarged centre line. */
function enlargedAngle(angle, enlarge) {
  return enlarge === 1 ? angle : Math.atan2(enlarge * Math.sin(angle), Math.cos(angle));
}
