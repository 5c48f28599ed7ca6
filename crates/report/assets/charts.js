// The charts of a step: rates by second, and response times by percentile.

// More lines than this are hard to distinguish.
const LINES = 8;
const HEIGHT = 200;
/** No chart if all values are below this, in CPUs or MiB per second. */
const LEAST = 0.01;
/** Width of the axis on the left, which also has the names of lanes. */
const AXIS = 86;

const LABELS = { insert: "Inserts", delete: "Deletes", query: "Queries", transaction: "Transactions" };
const TITLES = {
  insert: "Rows inserted per second", delete: "Rows deleted per second",
  query: "Queries per second", transaction: "Transactions per second",
};

const ZERO = { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] };
const LOG = { distr: 3, range: (_, min, max) => max > 0 ? uPlot.rangeLog(min, max, 10, true) : [0.1, 10] };

/** From the first to the last value, or the zoomed range. */
const EXTENT = { time: false, range: (_, min, max) => min === max ? [min - 1, max + 1] : [min, max] };
const SECONDS = {
  label: "second",
  scale: EXTENT,
  axis: { incrs: [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600] },
};
const PROGRESS = {
  label: "% of the step",
  scale: EXTENT,
  axis: { values: (_, ticks) => ticks.map(tick => tick + " %") },
};
const NINES = {
  label: "percentile",
  scale: { time: false, range: (_, min, max) => [min, Math.max(min + 1, max)] },
  axis: { incrs: [1], values: (_, ticks) => ticks.map(share) },
  // Room for the last tick, which is longer than others.
  padding: [null, 36, null, null],
  value: (_, x) => x == null ? "-" : share(x),
};

/** 2 nines are 99 %. */
function share(nines) {
  const beyond = 10 ** -nines;
  return (100 * (1 - beyond)).toFixed(Math.max(0, Math.ceil(nines - 2 - 1e-9) + (nines % 1 ? 1 : 0))) + " %";
}

/** Stores the zoomed range in the address, to a tenth: pointing is no more precise. */
function remember(name, xs, { min, max }) {
  if (min > xs[0] || max < xs.at(-1)) state.zoom.set(name, [min, max].map(x => Math.round(10 * x) / 10));
  else state.zoom.delete(name);
  writeAddress();
}

/** Charts with a common cursor have the same range. The range of an address may exceed the data. */
function zoomIn(charts, sync, xs, [from, to]) {
  const range = { min: Math.max(from, xs[0]), max: Math.min(to, xs.at(-1)) };
  if (!(range.min < range.max)) return;
  for (const chart of charts) chart.setScale("x", range);
  if (sync) remember(sync, xs, range);
}

/** Keys move the cursor and zoom; names below the chart select a line. */
function byKeyboard(chart, holder, title, xs, zoom) {
  holder.tabIndex = 0;
  holder.setAttribute("role", "group");
  holder.setAttribute("aria-label", title);
  const at = () => chart.cursor.idx ?? chart.valToIdx((chart.scales.x.min + chart.scales.x.max) / 2);
  // A key points at no line, so the cursor is far from all of them.
  const cursor = left => chart.setCursor({ left, top: -9999 }, true, true);
  const move = by => {
    const { min, max } = chart.scales.x;
    const [first, last] = [xs.findIndex(x => x >= min), xs.findLastIndex(x => x <= max)];
    if (first <= last) cursor(chart.valToPos(xs[Math.max(first, Math.min(last, at() + by))], "x"));
  };
  const zoomBy = times => {
    const { min, max } = chart.scales.x;
    const [middle, half] = [xs[at()], times * (max - min) / 2];
    zoom([middle - half, middle + half]);
  };
  const actions = {
    ArrowLeft: () => move(-1), ArrowRight: () => move(1),
    "+": () => zoomBy(0.5), "-": () => zoomBy(2), 0: () => zoom([xs[0], xs.at(-1)]),
  };
  holder.addEventListener("keydown", event => {
    if (event.target !== holder || event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
  holder.addEventListener("blur", () => cursor(-10));
  lineNames(chart).forEach((label, index) => {
    label.tabIndex = 0;
    label.setAttribute("role", "button");
    label.setAttribute("aria-pressed", chart.series[index + 1].show);
    label.addEventListener("focus", () => chart.setSeries(index + 1, { focus: true }));
    label.addEventListener("blur", () => chart.setSeries(null, { focus: true }));
    label.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      label.click();
    });
  });
}

/** The names of lines below a chart, without the first, which is that of the axis. */
function lineNames(chart) {
  return [...chart.root.querySelectorAll(".u-series .u-label")].slice(1);
}

/**
 * Clears a figure before it is drawn again. Returns a function that restores the focus.
 * A chart that is not destroyed would continue to follow the others.
 */
function cleared(figure) {
  const called = part => part.getAttribute("aria-label") ?? part.textContent;
  const left = figure.contains(document.activeElement) ? called(document.activeElement) : null;
  for (const holder of figure.querySelectorAll(".plot")) holder.chart?.destroy();
  figure.replaceChildren();
  return () => {
    const parts = left === null ? [] : [...figure.querySelectorAll("button, [tabindex]")];
    parts.find(part => called(part) === left)?.focus({ preventScroll: true });
  };
}

/**
 * A chart with a heading and a button that saves it.
 * Lines have a name, a contender, their values, and may be dashed.
 * Charts with the same `sync`, the name of a step or test, share one cursor and one range.
 */
function plot(parent, { title, file, xs, lines, scale, over, sync, hooks }) {
  const shown = lines.filter(line => !state.hide.has(place(line.contender)));
  const heading = element(parent, "h4", title);
  const holder = element(parent, "div", null, "plot");
  const grid = { stroke: "rgba(128,128,128,.25)", width: 1 };
  const axis = { stroke: "#888", grid, ticks: grid };
  const at = xs.length > 0 ? xs : [1];
  const zoom = range => zoomIn(sync ? uPlot.sync(sync + state.x).plots : [chart], sync, at, range);
  const whole = element(heading, "button", "show all", "small");
  whole.type = "button";
  whole.hidden = true;
  whole.addEventListener("click", () => zoom([at[0], at.at(-1)]));
  const zoomed = (chart, key) => {
    if (key !== "x") return;
    const { min, max } = chart.scales.x;
    whole.hidden = !(min > at[0] || max < at.at(-1));
    // Only the chart under the pointer has an event; others follow it, or an earlier choice.
    if (sync && chart.cursor.event) remember(sync, at, chart.scales.x);
  };
  const switched = (chart, index, { show }) => {
    if (show !== undefined) lineNames(chart)[index - 1].setAttribute("aria-pressed", show);
  };
  const chart = new uPlot({
    width: holder.clientWidth, height: HEIGHT,
    cursor: { y: false, sync: sync ? { key: sync + state.x } : undefined, drag: { x: true, y: false }, focus: { prox: 24 } },
    focus: { alpha: 0.35 },
    padding: over.padding,
    scales: { x: over.scale, y: scale },
    axes: [
      { ...axis, ...over.axis },
      { ...axis, size: AXIS, values: (_, ticks) => ticks.map(tick => tick == null ? "" : format(tick)) },
    ],
    hooks: { ...hooks, setScale: [...(hooks?.setScale ?? []), zoomed], setSeries: [...(hooks?.setSeries ?? []), switched] },
    series: [
      { label: over.label, ...(over.value ? { value: over.value } : {}) },
      ...shown.map((line, index) => ({
        label: line.name,
        stroke: colour(place(line.contender)),
        dash: line.dash ?? dash(place(line.contender)),
        width: 1.5,
        points: { size: 4 },
        show: index < LINES * (line.per ?? 1),
        value: (_, value) => format(value),
      })),
    ],
  }, [at, ...shown.map(line => line.values)], holder);
  holder.chart = chart;
  byKeyboard(chart, holder, title, at, zoom);
  if (state.zoom.has(sync)) zoomIn([chart], null, at, state.zoom.get(sync));
  saver(heading, () => saveCanvas(chart, title, file));
  // Not within the notification, which the new size could trigger again.
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (holder.clientWidth > 0 && holder.clientWidth !== chart.width) {
      chart.setSize({ width: holder.clientWidth, height: HEIGHT });
    }
  })).observe(holder);
  return chart;
}

const HUNDREDTHS = Array.from({ length: 101 }, (_, index) => index);

/** The number of points of a line before it ends. */
function pointsOf(values) {
  return values.findLastIndex(value => value != null) + 1;
}

/** Values at each hundredth of a line's length, so long and short lines are comparable. */
function byProgress(values) {
  const length = pointsOf(values);
  return HUNDREDTHS.map(hundredth =>
    length > 0 ? values[Math.min(length - 1, Math.floor(hundredth / 100 * length))] : null);
}

function overTime(data, entries, key, named) {
  const progress = state.x === "progress";
  const xs = progress ? HUNDREDTHS : data.at;
  const lines = entries.map(entry => ({
    contender: entry.contender,
    name: named ? named(entry) : entry.contender,
    values: progress ? byProgress(entry[key]) : data.at.map((_, index) => entry[key][index] ?? null),
  }));
  return { xs, lines, over: progress ? PROGRESS : SECONDS };
}

/**
 * Background work, on the axis of the chart above: time, with points at the ends of seconds, or
 * progress, for which `lasted` has the seconds of each contender.
 */
function lanes(parent, { lanes, stretch }, lasted) {
  const isProgress = state.x === "progress";
  const kinds = [...new Set(lanes.map(lane => lane.kind))];
  const box = element(parent, "div", null, "lanes");
  const views = [];
  for (const kind of kinds) {
    const rows = lanes.filter(lane => lane.kind === kind && !state.hide.has(place(lane.contender)));
    if (rows.length === 0) continue;
    const row = element(box, "div", null, "lane");
    element(row, "span", kind).title = rows[0].legend;
    const height = 9 * rows.length;
    const svg = drawn(row, "svg", { height, preserveAspectRatio: "none", role: "img", "aria-label": kind });
    rows.forEach((lane, index) => {
      const group = drawn(svg, "g", { fill: colour(place(lane.contender)) });
      drawn(group, "title", {}, `${lane.contender}: ${lane.legend}; ${lane.counter}, at most ${lane.most}`);
      const seconds = Math.max(lasted.get(lane.contender) ?? 0, stretch);
      const width = isProgress ? 100 * stretch / seconds : stretch;
      // Around the point for the same seconds; the last stretch may be shorter.
      const left = cell => isProgress ? Math.min(cell * width, 100 - width) : cell * stretch + 0.5;
      [...lane.cells].forEach((digit, cell) => {
        if (digit === "0") return;
        drawn(group, "rect", { x: left(cell), y: 9 * index, width, height: 8, opacity: 0.25 + Number(digit) / 12 });
      });
    });
    views.push([svg, height]);
  }
  return (min, max) => {
    for (const [svg, height] of views) svg.setAttribute("viewBox", `${min} 0 ${Math.max(max - min, 1e-3)} ${height}`);
  };
}

/** A chart over time or progress with lanes of the same range below it. */
function plotWithLanes(parent, options, data, lasted) {
  let view;
  const follow = (chart, key) => {
    if (key === "x") view?.(chart.scales.x.min, chart.scales.x.max);
  };
  const chart = plot(parent, { ...options, hooks: { ...options.hooks, setScale: [follow] } });
  if (!data?.lanes.length) return;
  view = lanes(parent, data, lasted);
  view(chart.scales.x.min ?? 0, chart.scales.x.max ?? options.xs.at(-1));
}

function drawSeconds(parent, step, data, machine) {
  const status = entry => entry.contender + (entry.status === "done" ? "" : ` (${entry.status})`);
  const visible = contenders.filter((_, index) => !state.hide.has(index)).length;
  if (visible > LINES) {
    element(parent, "p", `The charts show the first ${LINES} of ${visible} contenders. To see others, hide some in the list at the top, or click names below a chart.`, "note");
  }
  const stretch = data?.stretch ?? machine?.stretch ?? 1;
  if (stretch > 1) element(parent, "p", `The charts show the least and the greatest of each ${stretch} seconds.`, "note");
  const named = name => `${step} ${name}`;
  if (data) {
    const title = TITLES[data.operation];
    const second = data.stretch > 1 ? data.stretch / 2 : 1;
    const lasted = new Map(data.lines.map(line => [line.contender, pointsOf(line.rates) * second]));
    plotWithLanes(parent, { ...overTime(data, data.lines, "rates", status), title, file: named(title), scale: ZERO, sync: step }, machine, lasted);
    const longest = "Longest service time in each second, ms (logarithmic)";
    plot(parent, { ...overTime(data, data.lines, "longest", status), title: longest, file: named("longest"), scale: LOG, sync: step });
  }
  const observed = [["cpu", "CPUs used by the server"], ["read", "MiB per second read from storage"], ["written", "MiB per second written to storage"]];
  for (const [key, title] of observed) {
    if (!machine?.lines.some(line => line[key].some(value => value > LEAST))) continue;
    plot(parent, { ...overTime(machine, machine.lines, key), title, file: named(title), scale: ZERO, sync: step });
  }
}

function drawPercentiles(parent, step, lines) {
  if (lines.length === 0) return;
  const longest = Math.max(...lines.map(line => line.ms.length));
  const xs = Array.from({ length: longest }, (_, index) => index / 4);
  const both = lines.some(line => line.clock === "response");
  const made = lines.map(line => ({
    contender: line.contender,
    name: both ? `${line.contender}, ${line.clock}` : line.contender,
    dash: line.clock === "response" ? [3, 3] : undefined,
    per: both ? 2 : 1,
    values: xs.map((_, index) => line.ms[index] > 0 ? line.ms[index] : null),
  }));
  const title = both
    ? "Times by percentile, ms: from when it was sent (solid) and from when it was due (dotted)"
    : "Service times by percentile, ms (logarithmic)";
  plot(parent, { xs, lines: made, over: NINES, scale: LOG, title, file: `${step} percentiles` });
}

/** Buttons, one of them pressed. */
function choice(parent, entries, chosen, choose) {
  const group = element(parent, "div", null, "choice");
  group.setAttribute("role", "group");
  for (const [key, label] of entries) {
    const button = element(group, "button", label);
    button.type = "button";
    button.setAttribute("aria-pressed", key === chosen);
    button.addEventListener("click", () => choose(key));
  }
}

/** The choice of the axis of all charts. */
function axisChoice(parent) {
  choice(parent, [["time", "over time"], ["progress", "over progress"]], state.x, x => change({ x }));
}

async function drawChart(figure) {
  const step = figure.dataset.step;
  const of = list => list.filter(data => data.step === step);
  const found = of(await parsed("charts"));
  const machine = of(await parsed("machine"))[0];
  const percentiles = of(await parsed("percentiles"));
  const refocus = cleared(figure);
  if (found.length === 0 && !machine) {
    figure.textContent = "No operation completed.";
    return;
  }
  const bar = element(figure, "div", null, "bar-of-choices");
  const names = found.map(data => data.operation);
  const usual = names.includes("query") ? "query" : names[0];
  const chosen = names.includes(state.operation.get(step)) ? state.operation.get(step) : usual;
  if (names.length > 1) {
    choice(bar, names.map(name => [name, LABELS[name]]), chosen, name => {
      name === usual ? state.operation.delete(step) : state.operation.set(step, name);
      writeAddress();
      drawChart(figure);
    });
  }
  axisChoice(bar);
  const body = element(figure, "div");
  drawSeconds(body, step, found.find(data => data.operation === chosen), machine);
  drawPercentiles(body, step, percentiles.filter(line => line.operation === chosen));
  refocus();
}
