// Tables: facts, audit, peak loads, modes, static states, runs of a study; and charts of a few points.

/** A table with columns {title, text(row), number}; a click on a title sorts by it. */
function table(columns, rows, onrow = null) {
  const body = element("tbody");
  let order = rows.map((_, k) => k);
  let sorted = null;
  const fill = () => body.replaceChildren(...order.map((k) => {
    const cells = columns.map((column) => element("td", { className: column.number ? "number" : "" }, column.text(rows[k], k)));
    const line = element("tr", { className: onrow ? "active" : "" }, cells);
    if (onrow) line.onclick = () => onrow(rows[k], k, line);
    return line;
  }));
  const head = columns.map((column, c) => {
    const cell = element("th", { className: column.number ? "number" : "", title: "sort" }, column.title);
    cell.onclick = () => {
      const key = (k) => (column.key || column.text)(rows[k], k);
      const up = sorted === c ? -1 : 1;
      sorted = sorted === c ? null : c;
      order = order.slice().sort((a, b) => up * compared(key(a), key(b)));
      fill();
    };
    return cell;
  });
  fill();
  return element("div", { className: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, head)), body));
}

function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a ?? "").localeCompare(String(b ?? ""), undefined, { numeric: true });
}

function auditTable(audit) {
  const words = { good: "good", fair: "look closer", poor: "not good", neutral: "for information" };
  const rows = audit.map((each) => element(
    "tr", {},
    element("td", {}, element("span", { className: `badge ${each.level}` }, words[each.level])),
    element("td", { className: "subject" }, each.subject),
    element("td", {}, element("div", { className: "value" }, each.value), element("div", { className: "reason" }, each.reason)),
  ));
  return element("table", { className: "audit" }, element("tbody", {}, rows));
}

/** A sentence on the whole audit. */
function auditSentence(audit) {
  const named = (level) => audit.filter((each) => each.level === level).map((each) => each.subject).join(", ");
  if (named("poor")) return `Not to be trusted as it is: ${named("poor")}.`;
  if (named("fair")) return `Usable, with a closer look at: ${named("fair")}.`;
  return "All that should be conserved or zero is.";
}

function peakTable(peaks, seek, state) {
  const filter = element("input", { type: "search", placeholder: "filter, as boom moment", ariaLabel: "filter loads" });
  const place = element("div");
  const when = (time, where) => element("span", { className: "when" }, ` at ${state}${shortNumber(time, 4)}${state ? "" : " s"}`, where ? `, ${where}` : "");
  const cell = (value, time, where, unit) => {
    const [factor, prefix] = unit === "Pa" ? [1e6, "M"] : [1, ""];
    if (!value) return shortNumber(value);
    const shown = element("a", { href: "#view", title: "Show this instant" }, `${shortNumber(value / factor, 5)} ${prefix}${unit}`);
    shown.onclick = () => seek(time);
    return element("span", {}, shown, when(time, where));
  };
  const columns = [
    { title: "item", text: (row) => row.item },
    { title: "load", text: (row) => row.load },
    { title: "maximum", text: (row) => cell(row.maximum, row.time_of_maximum, row.place_of_maximum, row.unit), key: (row) => row.maximum },
    { title: "minimum", text: (row) => cell(row.minimum, row.time_of_minimum, row.place_of_minimum, row.unit), key: (row) => row.minimum },
  ];
  const list = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = peaks.filter((row) => words.every((word) => `${row.item} ${row.load}`.toLowerCase().includes(word)));
    place.replaceChildren(table(columns, rows));
  };
  filter.oninput = list;
  list();
  return element("div", {}, filter, place);
}

function modeTable(modes, player) {
  const columns = [
    { title: "mode", text: (_, k) => String(k + 1), number: true },
    { title: "frequency (Hz)", text: (row) => shortNumber(row.frequency, 6), key: (row) => row.frequency, number: true },
    { title: "damping (%)", text: (row) => (Math.abs(row.damping) > 1e-9 ? shortNumber(100 * row.damping, 3) : "0"), key: (row) => row.damping, number: true },
    { title: "moves most", text: (row) => row.moves },
  ];
  return table(columns, modes, player && ((_, k) => player.choose(k + 1)));
}

function staticSection(data, player) {
  const { states, critical, displacements } = data;
  const stable = (count) => (count < 0 ? "turns: not told" : count === 0 ? "stable" : `unstable, ${count} negative`);
  const columns = [
    { title: "state", text: (_, k) => String(k), number: true },
    { title: "load factor", text: (row) => shortNumber(row.load_factor, 6), number: true },
    { title: "equilibrium", text: (row) => (row.negative_eigenvalues === undefined ? "" : stable(row.negative_eigenvalues)) },
    { title: "iterations", text: (row) => String(row.iterations ?? ""), number: true },
  ];
  const rows = states.load_factor.map((_, k) => Object.fromEntries(Object.entries(states).map(([word, list]) => [word, list[k]])));
  const parts = [];
  if (critical.length) {
    const named = critical.map((each) => `${shortNumber(each.factor, 6)}${each.mode ? ` (${each.mode})` : ""}`);
    parts.push(element("p", {}, `Critical load factors: ${named.join("; ")}.`));
  }
  const sizes = displacements.flatMap((entry) => [0, 1, 2].map((k) => ({ entry, k, size: Math.max(...entry.values.map((row) => Math.abs(row[k]))) })));
  const options = sizes.filter((each) => each.size > 0).sort((a, b) => b.size - a.size).map(({ entry, k }) => ({
    label: `displacement ${"xyz"[k]} of ${entry.name} (m)`, values: entry.values.map((row) => row[k]),
  }));
  const factors = { label: "load factor", values: states.load_factor };
  if (options.length) parts.push(chart(options, [factors], { joined: true, onpoint: (k) => player && player.seek(k) }));
  parts.push(table(columns, rows, player && ((_, k) => player.seek(k))));
  return parts;
}

function studySection(study) {
  const rows = study.values[0].map((_, k) => study.columns.map((_, c) => study.values[c][k]));
  const columns = study.columns.map((title, c) => ({
    title, number: typeof study.values[c][0] === "number", key: (row) => row[c],
    text: (row) => (typeof row[c] === "number" ? shortNumber(row[c], 6) : row[c] === null ? "–" : row[c]),
  }));
  const column = (label) => ({ label, values: study.values[study.columns.indexOf(label)] });
  const numeric = (each) => each.values.some((value) => typeof value === "number");
  const [variables, outputs] = [study.variables.map(column).filter(numeric), study.outputs.map(column).filter(numeric)];
  const parts = [element("p", {}, `${study.runs} runs, ${study.failed} failed; design: ${study.design}.`)];
  if (outputs.length) parts.push(chart([...variables, ...outputs], [...outputs, ...variables], {}));
  const statistics = outputs.map((each) => {
    const known = each.values.filter((value) => typeof value === "number").sort((a, b) => a - b);
    const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
    return { label: each.label, least: known[0], median: quantile(known, 0.5), mean, largest: known.at(-1) };
  });
  const words = ["least", "median", "mean", "largest"];
  const shown = words.map((word) => ({ title: word, text: (row) => shortNumber(row[word], 6), key: (row) => row[word], number: true }));
  parts.push(element("h3", {}, "Outputs"), table([{ title: "output", text: (row) => row.label }, ...shown], statistics));
  parts.push(element("h3", {}, "Runs"), table(columns, rows));
  if (rows.length < study.runs) parts.push(element("p", { className: "hint" }, `The first ${rows.length} of ${study.runs} runs; sweep.csv has all.`));
  return parts;
}

function quantile(ordered, part) {
  const place = part * (ordered.length - 1);
  const k = Math.floor(place);
  return k + 1 < ordered.length ? ordered[k] + (place - k) * (ordered[k + 1] - ordered[k]) : ordered[k];
}
