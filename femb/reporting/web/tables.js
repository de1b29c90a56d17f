// Tables: audit, peak loads, static states.

/** A table with columns {title, text(row), number}; a click on a title sorts by it. best: the number of the row that is
 * marked. The element's ``choose(inside)`` leaves out the rows that are not inside. */
function table(columns, rows, onrow = null, best = null) {
  const body = element("tbody");
  let order = rows.map((_, k) => k);
  let sorted = null;
  let inside = null;
  const fill = () => body.replaceChildren(...order.filter((k) => !inside || inside[k]).map((k) => {
    const cells = columns.map((column) => element("td", { className: column.number ? "number" : "" }, column.text(rows[k], k)));
    const line = element("tr", { className: `${onrow ? "active" : ""}${k === best ? " best" : ""}`.trim() }, cells);
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
  const made = element("div", { className: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, head)), body));
  made.choose = (chosen) => {
    inside = chosen;
    fill();
  };
  return made;
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

/** Work, electrical energy and impulses of each kind of items, at the end. */
function budgetTable(budget) {
  const shown = (values) => (values ? values.map((value) => shortNumber(value, 4)).join(", ") : "");
  return table([
    { title: "account", text: (row) => row.account },
    { title: "work (J)", text: (row) => shown(row.work), key: (row) => row.work?.[0] ?? 0, number: true },
    { title: "electrical (J)", text: (row) => shown(row.electrical_energy), number: true },
    { title: "impulse (N s)", text: (row) => shown(row.impulse), number: true },
    { title: "angular impulse (N m s)", text: (row) => shown(row.angular_impulse), number: true },
  ], budget);
}

/** The signals of control loops; show draws the history of a row. */
function loopTable(loops, show) {
  const shown = (row, values) => values.map((value) => shortNumber(value, 4)).join(", ") + (row.unit ? ` ${row.unit}` : "");
  return table([
    { title: "controller", text: (row) => row.controller },
    { title: "signal", text: (row) => row.role },
    { title: "quantity", text: (row) => row.path },
    { title: "components", text: (row) => row.names.join(", ") },
    { title: "largest", text: (row) => shown(row, row.largest), key: (row) => Math.max(...row.largest), number: true },
    { title: "last", text: (row) => shown(row, row.last), number: true },
  ], loops, show);
}

function peakTable(peaks, seek, state) {
  const filter = element("input", { type: "search", placeholder: "filter, as boom moment", ariaLabel: "filter loads" });
  const place = element("div");
  const when = (time, where) => element("span", { className: "when" }, ` at ${state}${shortNumber(time, 4)}${state ? "" : " s"}`, where ? `, ${where}` : "");
  const cell = (value, time, where, unit) => {
    const [factor, prefix] = unit === "Pa" ? [1e6, "M"] : [1, ""];
    if (!value) return shortNumber(value);
    const text = `${shortNumber(value / factor, 5)} ${prefix}${unit}`;
    const shown = seek ? element("a", { href: "#view", title: "Show this instant", onclick: () => seek(time) }, text) : text;
    return element("span", {}, shown, when(time, where));
  };
  const columns = [
    { title: "item", text: (row) => row.item },
    { title: "load", text: (row) => row.load },
    { title: "maximum", text: (row) => cell(row.maximum, row.time_of_maximum, row.place_of_maximum, row.unit), key: (row) => row.maximum },
    { title: "minimum", text: (row) => cell(row.minimum, row.time_of_minimum, row.place_of_minimum, row.unit), key: (row) => row.minimum },
  ];
  const acting = peaks.filter((row) => row.maximum || row.minimum);
  const list = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = acting.filter((row) => words.every((word) => `${row.item} ${row.load}`.toLowerCase().includes(word)));
    place.replaceChildren(table(columns, rows));
  };
  filter.oninput = list;
  list();
  const zero = peaks.length - acting.length;
  const note = zero ? element("p", { className: "hint" }, `${zero} further loads are zero at all times.`) : null;
  return element("div", {}, filter, place, note || "");
}

function staticSection(data, player, buckling) {
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
  if (critical.length && !buckling) {
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

/** The derivatives of an output, with bars of what it changes by over half of the range of each parameter. */
function sensitivityTable(found) {
  const largest = Math.max(...found.rows.map((row) => Math.abs(row.change)), 1e-300);
  const bar = (row) => element("div", {
    style: `height: 0.7em; width: ${(200 * Math.abs(row.change)) / largest}px; background: var(${row.change < 0 ? "--link" : "--accent"})`,
  });
  const numbers = ["value", "derivative", "error", "change"].map((word) => (
    { title: word, number: true, key: (row) => row[word], text: (row) => shortNumber(row[word], 6) }
  ));
  const columns = [{ title: "by", text: (row) => row.by }, { title: "unit", text: (row) => row.unit }, ...numbers, { title: "", text: bar }];
  const head = `${found.name} ${shortNumber(found.value, 6)} ${found.unit}`.trim();
  return [element("h3", {}, found.way ? `${head}, ${found.way}` : head), table(columns, found.rows)];
}
