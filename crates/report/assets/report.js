// Sets up the page.

const hasData = typeof DecompressionStream !== "undefined";

/** Draws the visible parts. Folded parts are drawn when they are unfolded, since there are many. */
async function drawVisible() {
  const visible = selector => [...document.querySelectorAll(selector + ":not([data-drawn])")]
    .filter(place => !place.closest("details:not([open])"));
  const [figures, rounds, curves, histories, tables] =
    ["figure.chart", "figure.rounds", "figure.curves", ".histories", "[data-engine]"].map(visible);
  for (const place of [...figures, ...rounds, ...curves, ...histories, ...tables]) {
    place.dataset.drawn = "";
    if (!hasData) place.textContent = "This part needs a browser from 2023 or later.";
  }
  if (!hasData) return;
  for (const figure of figures) await drawChart(figure);
  const matrix = await parsed("matrix");
  for (const figure of rounds) drawRounds(figure, matrix);
  for (const holder of histories) drawHistories(holder, matrix, (await parsed("histories"))[holder.dataset.history]);
  for (const figure of curves) {
    const found = (await parsed("curves")).find(curve => curve.test === figure.dataset.test);
    if (found) drawCurves(figure, found);
  }
  // The report wrote these tables, with every name escaped.
  for (const place of tables) place.innerHTML = (await parsed("engine"))[place.dataset.engine];
  if (tables.length > 0) hideParts();
}

/** Hides rows, bars and sections of hidden contenders. */
function hideParts() {
  const hidden = new Set([...state.hide].map(index => contenders[index]));
  for (const part of document.querySelectorAll("[data-of]")) part.hidden = hidden.has(part.dataset.of);
  for (const button of document.querySelectorAll("[data-contender]")) {
    button.setAttribute("aria-pressed", !state.hide.has(Number(button.dataset.contender)));
  }
}

/** Shows a flame graph in its own document, since each has its own script and names. */
async function flame(button) {
  const place = button.closest("details").querySelector("figure");
  for (const other of button.parentElement.children) other.setAttribute("aria-pressed", other === button);
  const frame = document.createElement("iframe");
  frame.title = button.textContent;
  frame.addEventListener("load", () => {
    frame.height = frame.contentDocument.documentElement.scrollHeight + 4;
    // Its script stores the zoom in the address, which a frame without one does not allow.
    frame.contentWindow.history.replaceState = () => {};
  });
  // The report drew it, with every name escaped.
  frame.srcdoc = "<style>body { margin: 0 } svg { width: 100% }</style>" + await unpacked(button.dataset.flame);
  place.replaceChildren(frame);
}

/** Unfolds the target of the address. */
function reveal() {
  const target = document.getElementById(state.place);
  if (!target) return;
  for (let folded = target.closest("details"); folded; folded = folded.parentElement.closest("details")) {
    folded.open = true;
  }
  target.scrollIntoView();
  // The Tab key continues from there.
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

const openAtFirst = new Set();

/** Each folding has a name; the address lists those that differ from their first state. */
function nameFoldings() {
  document.querySelectorAll("details").forEach((folded, number) => {
    folded.dataset.fold = folded.id || number;
    if (folded.open) openAtFirst.add(folded);
  });
}

function unfold() {
  for (const folded of document.querySelectorAll("details")) {
    folded.open = openAtFirst.has(folded) !== state.open.has(folded.dataset.fold);
  }
}

/** The valid parts of an address. */
function valid(found, matrix) {
  const limits = { base: matrix?.contenders.length, measure: matrix?.measures.length };
  for (const [name, limit] of Object.entries(limits)) {
    if (name in found && !(found[name] >= 0 && found[name] < limit)) delete found[name];
  }
  const known = { view: ["relative", "absolute", ...(matrix?.shifts.length ? ["shift"] : [])],
    sort: ["plan", "change"], x: ["time", "progress"] };
  for (const [name, values] of Object.entries(known)) {
    if (name in found && !values.includes(found[name])) delete found[name];
  }
  if (found.hide) {
    found.hide = new Set([...found.hide].filter(index => index >= 0 && index < contenders.length));
    if (found.hide.size >= contenders.length) delete found.hide;
  }
  const figures = [...document.querySelectorAll("figure.chart, figure.curves")];
  const charted = new Set(figures.map(figure => figure.dataset.step ?? figure.dataset.test));
  const fits = { operation: name => Object.hasOwn(LABELS, name), zoom: ([from, to]) => from < to };
  for (const [name, isFit] of Object.entries(fits)) {
    if (!found[name]) continue;
    found[name] = new Map([...found[name]].filter(([step, value]) => charted.has(step) && isFit(value)));
  }
  return found;
}

function chooser(matrix) {
  const form = document.getElementById("choose");
  if (!form) return;
  const show = () => {
    for (const field of form.elements) if (field.name) field.value = state[field.name];
  };
  form.addEventListener("input", () => change({
    base: Number(form.elements.base.value),
    measure: Number(form.elements.measure.value),
    view: form.elements.view.value,
    sort: form.elements.sort.value,
  }));
  form.addEventListener("submit", event => event.preventDefault());
  const saves = {
    "save as CSV": () => download(shownCsv(matrix), "text/csv", "relative.csv"),
    "save as PNG": () => savePicture(document.getElementById("matrix-table"), form.elements.view.selectedOptions[0].text),
  };
  for (const [name, save] of Object.entries(saves)) {
    const button = element(form, "button", name);
    button.type = "button";
    button.addEventListener("click", save);
  }
  onChange(show);
  show();
}

/** Keyboard shortcuts; fields keep their own keys. */
function keys(matrix) {
  const next = (values, value) => values[(values.indexOf(value) + 1) % values.length];
  const jump = by => {
    const parts = [...document.querySelectorAll("main section[id], details.test[id]")].filter(part => part.offsetParent);
    const below = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) + 2;
    const top = parts.findLastIndex(part => part.getBoundingClientRect().top < below);
    const target = parts[Math.max(0, Math.min(parts.length - 1, top + by))];
    target.scrollIntoView();
    change({ place: target.id });
  };
  const actions = {
    j: () => jump(1),
    k: () => jump(-1),
    x: () => change({ x: next(["time", "progress"], state.x) }),
    e: () => {
      const all = [...document.querySelectorAll("details")];
      const isOpen = !all.every(folded => folded.open);
      for (const folded of all) folded.open = isOpen;
    },
  };
  if (matrix) {
    const bases = matrix.contenders.map((_, index) => index);
    actions.b = () => change({ base: next(bases, state.base) });
    actions.v = () => change({ view: next(["relative", "absolute"], state.view) });
    actions.m = () => change({ measure: (state.measure + 1) % matrix.measures.length });
  }
  addEventListener("keydown", event => {
    const isField = event.target.closest?.("input, select, textarea");
    if (!isField && !event.ctrlKey && !event.metaKey && !event.altKey) actions[event.key]?.();
  });
}

/** Keeps link targets below the bar of contents, which may have several lines. */
function clearBar() {
  const bar = document.querySelector("nav");
  if (!bar) return;
  const clear = () => {
    document.documentElement.style.scrollPaddingTop = `${bar.offsetHeight + 8}px`;
  };
  new ResizeObserver(clear).observe(bar);
  clear();
}

/**
 * Unfolds everything for print, except counters of the DBMS, which are hundreds of rows for each
 * step, and flame graphs.
 */
function unfoldForPrint() {
  const unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded.push(...document.querySelectorAll("details:not([open], :has(> [data-engine]), .flames)"));
    for (const folded of unfolded) folded.open = true;
    drawVisible();
  });
  addEventListener("afterprint", () => {
    for (const folded of unfolded.splice(0)) folded.open = false;
  });
}

async function begin() {
  const matrix = hasData ? await parsed("matrix") : null;
  const names = document.querySelectorAll("[data-contender]");
  contenders = matrix?.contenders ?? (hasData ? [...new Set((await parsed("charts")).flatMap(chart => chart.lines.map(line => line.contender)))] : []);
  first.base = matrix?.baseline ?? 0;
  state.base = first.base;
  names.forEach((button, index) => {
    button.querySelector(".swatch").style.background = colour(index);
    button.addEventListener("click", () => {
      const hide = new Set(state.hide);
      // One contender always stays visible.
      if (!hide.delete(index) && hide.size + 1 < contenders.length) hide.add(index);
      change({ hide });
    });
  });
  for (const bar of document.querySelectorAll(".bars .row")) {
    bar.style.setProperty("--bar", colour(place(bar.dataset.of)));
  }
  Object.assign(state, valid(readAddress(), matrix));
  if (matrix) chooser(matrix);
  if (matrix) drawMatrix(matrix);
  hideParts();
  nameFoldings();
  keys(matrix);
  onChange(names => {
    const has = (...those) => those.some(name => names.includes(name));
    const isCompared = has("hide", "measure", "base", "view", "sort");
    if (matrix && isCompared) drawMatrix(matrix);
    const again = [];
    if (has("hide", "x", "operation", "zoom")) again.push("figure.chart", "figure.curves");
    if (has("hide", "measure")) again.push("figure.rounds");
    if (isCompared) again.push(".histories");
    for (const selector of again) {
      for (const figure of document.querySelectorAll(selector)) delete figure.dataset.drawn;
    }
    hideParts();
    drawVisible();
  });
  for (const folded of document.querySelectorAll("details")) {
    folded.addEventListener("toggle", () => {
      drawVisible();
      const isAsAtFirst = folded.open === openAtFirst.has(folded);
      state.open[isAsAtFirst ? "delete" : "add"](folded.dataset.fold);
      writeAddress();
    });
  }
  // Another address is another view: parts that it does not name have their first state.
  addEventListener("hashchange", () => {
    change({ ...nothing(), base: first.base, ...valid(readAddress(), matrix) });
    unfold();
    reveal();
  });
  // A link within the page changes the place only, and the Back button returns.
  addEventListener("click", event => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.hash !== location.hash) history.pushState(null, "", link.hash);
    change({ place: decoded(link.hash.slice(1)) });
    reveal();
  });
  for (const button of document.querySelectorAll("button[data-source]")) {
    button.addEventListener("click", async () => download(await unpacked(button.dataset.source), "text/plain", button.dataset.file));
  }
  for (const folded of document.querySelectorAll("details.flames")) {
    folded.addEventListener("toggle", () => {
      if (folded.open && !folded.querySelector("iframe")) flame(folded.querySelector("button[data-flame]"));
    });
  }
  for (const button of document.querySelectorAll("button[data-flame]")) {
    button.addEventListener("click", () => flame(button));
  }
  for (const part of document.querySelectorAll("[data-save]")) {
    saver(part.querySelector("figcaption, thead th"), () => savePicture(part, part.dataset.save));
  }
  clearBar();
  unfoldForPrint();
  unfold();
  await drawVisible();
  reveal();
  // Printing does not wait for data, so folded parts need them beforehand.
  if (hasData) await Promise.all(["charts", "machine", "percentiles", "histories", "curves"].map(parsed));
}

begin();
