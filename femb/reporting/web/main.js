// The page: its sections in order, from the data; and what other scripts may use, window.femb.

const data = JSON.parse(document.getElementById("femb-data").textContent);

function section(title, ...content) {
  return element("section", {}, title ? element("h2", {}, title) : null, ...content);
}

function header(head) {
  const status = head.status && element("span", { className: `badge ${{ complete: "good", failed: "poor" }[head.status] || "fair"}` }, head.status === "running" ? "unfinished" : head.status);
  const facts = Object.fromEntries(head.facts);
  const line = [facts.analysis, facts.method, facts.time, facts["made with"]].filter(Boolean).join("  ·  ");
  const message = head.message && element("p", { className: head.status === "complete" ? "message" : "message poor" }, head.message);
  const unfinished = head.status === "running" && element("p", { className: "message" }, "The run had not ended when this page was made, or was stopped: the results end before its duration.");
  return element("header", {}, element("h1", {}, head.title, status || null), element("p", { className: "line" }, line), message || null, unfinished || null);
}

/** A place for a view, and the player of a scene in it; none where the browser shows no three-dimensional graphics. */
function viewOf(place, scene, modes, bytes) {
  const view = element("div", { className: "view", tabIndex: 0 });
  place.append(view);
  try {
    const structure = new Structure(scene, bytes);
    const viewer = new Viewer(structure, view);
    const player = new Player(scene, structure, viewer, modes);
    player.factors = data.static ? data.static.states.load_factor : null;
    view.append(player.legend);
    player.picks = new Picks(player, scene.kind === "buckling" ? null : data.histories, bytes);
    player.film = new Film(player, data.head.title);
    player.options.append(player.film.buttons);
    view.after(player.bar, player.options, player.picks.place);
    if (player.kind === "time" && structure.travel() > 3 * scene.extent) player.follow("*");
    player.fit();
    viewer.theme();
    return player;
  } catch (error) {
    console.warn(error);
    view.className = "view empty";
    view.append(`The animation needs WebGL, which this browser does not offer (${error.message}).`);
    return null;
  }
}

/** What was left out, in words. */
function notes() {
  const found = [];
  const { scene, histories } = data;
  if (scene && scene.times.length < scene.outputs) {
    found.push(`The animation shows ${scene.times.length} of ${scene.outputs} output times, and moves straight between them.`);
  }
  const thinned = histories ? histories.entries.filter((entry) => entry.every > 1) : [];
  if (thinned.length) {
    const which = thinned.length < histories.entries.length ? `${thinned.length} of ${histories.entries.length} histories` : "Histories";
    found.push(`${which} have every ${thinned[0].every}th output time; peak loads and the audit are of all.`);
  }
  if (histories && histories.left_out) found.push(`There was no room for ${histories.left_out} further quantities: femb plot draws them.`);
  if (scene && scene.frame !== "inertial") found.push(`The motion is seen from ${scene.frame}.`);
  return found.map((text) => element("p", { className: "hint" }, text));
}

function keys(player) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input:not([type=range]):not([type=checkbox]), select, textarea");
    if (typing) return;
    const actions = {
      " ": () => player.play(), ArrowRight: () => player.step(1), ArrowLeft: () => player.step(-1),
      Home: () => player.seek(player.first), End: () => player.seek(player.last), f: () => player.fitNext(), Escape: () => player.picks.clear(),
    };
    const ranged = event.target.closest("input[type=range], button");
    if (!actions[event.key] || (ranged && event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    actions[event.key]();
  });
}

async function start() {
  const bytes = await unpackBytes(document.getElementById("femb-arrays").textContent);
  const page = element("main");
  document.body.append(page);
  page.append(header(data.head));
  const poses = element("div", { className: "poses" });
  let player = null;
  let buckling = null;
  const players = () => [player, buckling].filter(Boolean);
  if (data.scene) {
    const place = element("div", { className: "view-place", id: "view" });
    page.append(place);
    player = viewOf(place, data.scene, data.modes, bytes);
    place.append(poses);
  }
  const seek = (time) => player && player.kind !== "modes" && (player.play(false), player.seek(time));
  if (data.modes) page.append(section("Modes", element("p", { className: "hint" }, "A click on a mode shows it."), modeTable(data.modes, player)));
  if (data.participation.length) page.append(section("Effective masses", ...participationSection(data.participation, player)));
  if (data.static) page.append(section("Static path", ...staticSection(data.static, player, data.buckling)));
  if (data.buckling) {
    const place = element("div", { className: "view-place" });
    const part = section("Buckling modes", place);
    page.append(part);
    buckling = viewOf(place, data.buckling.scene, data.buckling.modes, bytes);
    part.append(bucklingTable(data.buckling.modes, data.buckling.states, buckling));
  }
  let responses = null;
  if (data.frequency) {
    responses = new Responses(data.frequency, bytes);
    const note = element("p", {}, `${data.frequency.note}.`);
    page.append(section("Frequency response", note, responses.place, ...responseTables(data.frequency)));
    responses.resize();
  }
  if (data.study) page.append(section(data.study.campbell ? "Modes over a parameter" : "Study", ...studySection(data.study)));
  if (data.figures.length) {
    const pictures = data.figures.map(({ name, picture }) => {
      const image = element("img", { src: `data:image/svg+xml;utf8,${encodeURIComponent(picture)}`, alt: `figure of the study ${name}` });
      return element("figure", {}, image, ...(name ? [element("figcaption", {}, name)] : []));
    });
    page.append(section("Over parameters", ...pictures));
  }
  if (data.sensitivities.length) page.append(section("Which number matters", ...data.sensitivities.flatMap(sensitivityTable)));
  const facts = data.head.facts.map(([word, text]) => element("tr", {}, element("th", {}, word), element("td", {}, text)));
  const ran = section("What was run", element("table", { className: "facts" }, element("tbody", {}, facts)), ...notes());
  const audit = data.audit.length
    ? section("Audit: is it right?", element("p", { id: "verdict" }, auditSentence(data.audit)), auditTable(data.audit)) : null;
  page.append(element("div", { className: audit ? "beside" : "" }, ...[audit, ran].filter(Boolean)));
  if (data.budget.length) {
    const hint = element("p", { className: "hint" }, "What each kind of items has done at the end. The works add up to the change of kinetic plus potential energy.");
    page.append(section("Energy and momentum: where they went", hint, budgetTable(data.budget)));
  }
  let curves = null;
  if (data.histories) {
    curves = new Curves(data.histories, data.others, data.head.events, bytes, seek);
    page.append(section(data.static ? "Over the states" : "Time histories", curves.place));
    curves.show(curves.chosen());
    if (player && player.kind !== "modes") player.listeners.push((time) => curves.at(time));
  }
  if (data.loops.length) {
    const show = (row) => {
      if (!curves) return;
      curves.show(data.loops.filter((each) => each.controller === row.controller && (each === row || each.role === "error")).map((each) => each.path));
      curves.place.scrollIntoView({ behavior: "smooth" });
    };
    const hint = element("p", { className: "hint" }, "A click on a signal shows its history beside the error of the controller.");
    page.append(section("Control loops", hint, loopTable(data.loops, show)));
  }
  if (data.peaks.length) page.append(section("Peak loads", peakTable(data.peaks, player && seek, data.static ? "state " : "")));
  const envelopes = data.envelopes.filter((each) => each.loads.length);
  if (envelopes.length) page.append(section("Envelopes along beams", envelopeChart(envelopes)));
  if (data.case) page.append(section("", element("details", {}, element("summary", {}, "Case"), element("pre", {}, data.case))));
  page.append(element("footer", {}, "Made by femb, with three.js and uPlot (MIT licence)."));
  const themed = () => {
    for (const each of players()) each.viewer.theme();
    if (curves) curves.theme();
    if (responses) responses.draw();
    if (player && player.kind !== "modes" && matchMedia("print").matches) poses.replaceChildren(...posesOf(player));
  };
  for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", themed);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (player) {
    keys(player);
    const shells = player.structure.bodies.some((body) => body.shell);
    const first = [...(shells ? ["von Mises stress"] : []), "bending moment", "axial force", "deflection"].find((name) => data.scene.quantities.some((each) => each.name === name));
    if (first && player.kind !== "modes") player.colour(first);
    if (player.kind === "states") player.seek(player.last);
    else if (!still) player.play(true);
  }
  if (buckling && !still) buckling.play(true);
  window.femb = { data, player, buckling, curves, responses };
  document.documentElement.dataset.ready = "yes";
}

start();
