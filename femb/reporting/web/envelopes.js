// Envelopes: the largest and smallest value of a load along a beam, over all times.

function envelopeChart(envelopes) {
  const place = element("div", { className: "chart" });
  const list = (word, names) => element("select", { ariaLabel: word, onchange: () => draw() }, names.map((name, k) => new Option(name, String(k))));
  const beams = list("beam", envelopes.map((each) => each.beam));
  const loads = element("select", { ariaLabel: "load", onchange: () => draw() });
  const fill = () => {
    const before = loads.value;
    const names = envelopes[Number(beams.value)].loads.map((each) => each.load);
    loads.replaceChildren(...names.map((name) => new Option(name, name)));
    loads.value = names.includes(before) ? before : names.find((name) => name.startsWith("bending moment")) || names[0] || "";
  };
  const draw = () => {
    fill();
    const envelope = envelopes[Number(beams.value)];
    const load = envelope.loads.find((each) => each.load === loads.value);
    place.replaceChildren(load ? envelopePicture(envelope.position, load) : "no load acts on this beam");
  };
  draw();
  return element("div", {}, element("div", { className: "options" }, labelled("beam", beams), labelled("load", loads)), place);
}

function envelopePicture(position, load) {
  const { picture, make } = emptyPicture();
  const known = [...load.maximum, ...load.minimum].filter((value) => value !== null);
  if (!known.length) return picture;
  const [factor, prefix] = scaled(Math.max(...known.map(Math.abs)));
  const ys = ticksOf([0, ...known.map((value) => value / factor)]);
  const { across, upwards } = drawAxes(picture, make, ticksOf(position), ys, "along the beam (m)", `${load.load} (${prefix}${load.unit})`);
  const line = (values) => position.map((x, k) => [x, values[k]]).filter(([, y]) => y !== null).map(([x, y]) => `${across(x)},${upwards(y / factor)}`);
  picture.append(make("polygon", { class: "between", points: [...line(load.maximum), ...line(load.minimum).reverse()].join(" ") }));
  for (const values of [load.maximum, load.minimum]) picture.append(make("polyline", { class: "curve", points: line(values).join(" ") }));
  return picture;
}
