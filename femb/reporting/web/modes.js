// Tables of modes: frequencies, participation and effective masses of appendages, buckling modes.

function modeTable(modes, player) {
  const share = (row) => (row.share === null ? "" : ` (${shortNumber(100 * row.share, 2)} % of the kinetic energy)`);
  const columns = [
    { title: "mode", text: (_, k) => String(k + 1), key: (_, k) => k, number: true },
    { title: "frequency (Hz)", text: (row) => shortNumber(row.frequency, 6), key: (row) => row.frequency, number: true },
    { title: "damping (%)", text: (row) => (Math.abs(row.damping) > 1e-9 ? shortNumber(100 * row.damping, 3) : "0"), key: (row) => row.damping, number: true },
    { title: "moves most", text: (row) => element("span", {}, row.moves, element("span", { className: "when" }, share(row))), key: (row) => row.moves },
    { title: "motion", text: (row) => row.motion, key: (row) => row.motion },
  ];
  return table(columns, modes, player && ((_, k) => player.choose(k + 1)));
}

const DIRECTIONS = ["mass x", "mass y", "mass z", "inertia x", "inertia y", "inertia z"];

/** Effective masses of the modes of an appendage, in kg and kg m², and as parts of the rigid mass. */
function participationTable(part, player) {
  const rows = part.frequencies.map((frequency, k) => ({ frequency, mode: part.modes[k], values: part.effective[k] }));
  const cell = (value, whole) => {
    const share = whole > 0 ? value / whole : 0;
    if (share < 5e-7) return element("span", { className: "when" }, "0");
    return element("span", {}, shortNumber(value, 4), element("span", { className: "share" }, `${shortNumber(100 * share, 3)} %`));
  };
  const columns = [
    { title: "mode", text: (row) => (row.mode === null ? "–" : String(row.mode)), key: (row) => row.mode, number: true },
    { title: "frequency (Hz)", text: (row) => shortNumber(row.frequency, 6), key: (row) => row.frequency, number: true },
    ...DIRECTIONS.map((title, d) => ({ title: `${title} (${d < 3 ? "kg" : "kg m²"})`, text: (row) => cell(row.values[d], part.rigid[d]), key: (row) => row.values[d], number: true })),
  ];
  const made = table(columns, rows, player && ((row) => row.mode !== null && player.choose(row.mode)));
  const sums = DIRECTIONS.map((_, d) => part.effective.reduce((sum, row) => sum + row[d], 0));
  const footer = (word, values) => element(
    "tr", {}, element("td", { colSpan: 2 }, word), values.map((value, d) => element("td", { className: "number" }, cell(value, part.rigid[d]))),
  );
  if (rows.length <= 20) made.style.maxHeight = "none";
  made.querySelector("table").append(element("tfoot", {}, footer("sum of these modes", sums), footer("rigid, about the root", part.rigid)));
  return made;
}

function participationSection(parts, player) {
  const hint = "Effective masses and inertias about the root of each appendage, along the axes of the held body; below each value its part of the rigid one.";
  return [element("p", { className: "hint" }, hint), ...parts.flatMap((part) => [element("h3", {}, part.name), participationTable(part, player)])];
}

function bucklingTable(modes, states, player) {
  const columns = [
    { title: "mode", text: (_, k) => String(k + 1), number: true },
    { title: "critical load factor", text: (row) => shortNumber(row.factor, 6), key: (row) => row.factor, number: true },
    { title: "drawn on state", text: (_, k) => String(states[k]), number: true },
    { title: "moves most", text: (row) => row.moves },
  ];
  return table(columns, modes, player && ((_, k) => player.choose(k + 1)));
}
