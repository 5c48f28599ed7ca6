"use strict";
// Draws the per-second charts from the data in the page, and offers that data for saving.

/** The text of a script element: base64 of zlib. */
async function unpacked(id) {
  const packed = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(packed, character => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

/** The same as data, read once. */
const read = {};
function parsed(id) {
  return read[id] ??= unpacked(id).then(JSON.parse);
}

// After Okabe and Ito, without the colours that vanish on white or on black; a ninth contender starts
// over with a dashed line.
const COLOURS = ["#1f86cc", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8c8c8c", "#a89600"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
// More lines than this cannot be told apart; the others are shown by a click in the legend.
const LINES = 8;
const GREY = "#888";

const LABELS = { insert: "Inserts", delete: "Deletes", query: "Queries", transaction: "Transactions" };
const TITLES = {
  insert: "Rows inserted per second", delete: "Rows deleted per second",
  query: "Queries per second", transaction: "Transactions per second",
};

function format(value) {
  if (value == null) return "-";
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

function plot(parent, data, values, scale, sync) {
  const xs = data.at.length > 0 ? data.at : [1];
  const entries = data.lines;
  const ys = entries.map(entry => xs.map((_, index) => entry[values][index] ?? null));
  const grid = { stroke: "rgba(128,128,128,.25)", width: 1 };
  const axis = { stroke: GREY, grid, ticks: grid };
  const height = 210;
  const chart = new uPlot({
    width: parent.clientWidth, height,
    cursor: { sync: { key: sync }, drag: { x: true, y: false } },
    scales: {
      x: { time: false, range: (_, min, max) => min === max ? [min - 1, max + 1] : [min, max] },
      y: scale,
    },
    axes: [{ ...axis, incrs: [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600] }, { ...axis, size: 70, values: (_, ticks) => ticks.map(t => t == null ? "" : format(t)) }],
    series: [
      { label: "second" },
      ...entries.map((entry, index) => ({
        label: entry.contender + (entry.status === "done" ? "" : " (" + entry.status + ")"),
        stroke: COLOURS[index % COLOURS.length],
        dash: DASHES[Math.floor(index / COLOURS.length) % DASHES.length],
        width: 1.5,
        points: { size: 4 },
        show: index < LINES,
        value: (_, value) => format(value),
      })),
    ],
  }, [xs, ...ys], parent);
  // Not within the notification, which the new size could bring about again.
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (parent.clientWidth > 0) chart.setSize({ width: parent.clientWidth, height });
  })).observe(parent);
}

function element(parent, name, text) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}

function draw(parent, data) {
  parent.replaceChildren();
  const sync = data.step + data.operation;
  if (data.lines.length > LINES) {
    const note = `The first ${LINES} of ${data.lines.length} are drawn. A click on a name shows or hides it.`;
    element(parent, "p", note).className = "note";
  }
  if (data.stretch > 1) {
    const note = `Of every ${data.stretch} seconds the least and the greatest are drawn.`;
    element(parent, "p", note).className = "note";
  }
  element(parent, "h4", TITLES[data.operation]);
  plot(element(parent, "div"), data, "rates",
    { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] }, sync);
  element(parent, "h4", "Longest service time in each second, ms (logarithmic)");
  plot(element(parent, "div"), data, "longest",
    { distr: 3, range: (_, min, max) => max > 0 ? uPlot.rangeLog(min, max, 10, true) : [0.1, 10] }, sync);
}

/** Buttons for the operations of a step, where there is more than one. */
function chart(figure, charts) {
  const found = charts.filter(data => data.step === figure.dataset.step);
  if (found.length === 0) {
    figure.textContent = "No operation ended.";
    return;
  }
  figure.replaceChildren();
  const choice = element(figure, "div");
  choice.className = "choice";
  const body = element(figure, "div");
  const choose = data => {
    for (const button of choice.children) {
      button.setAttribute("aria-pressed", button.textContent === LABELS[data.operation]);
    }
    draw(body, data);
  };
  if (found.length > 1) {
    for (const data of found) {
      const button = element(choice, "button", LABELS[data.operation]);
      button.type = "button";
      button.addEventListener("click", () => choose(data));
    }
  }
  choose(found.find(data => data.operation === "query") ?? found[0]);
}

async function save(button) {
  const text = await unpacked(button.dataset.source);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text]));
  link.download = button.dataset.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Draws what can be seen. What is folded is drawn when it is unfolded: there is much of it. */
async function drawAll() {
  const unfolded = selector => [...document.querySelectorAll(selector + ":not([data-drawn])")]
    .filter(place => !place.closest("details:not([open])"));
  const figures = unfolded("figure.chart");
  const tables = unfolded("details[data-engine] > div");
  const places = [...figures, ...tables];
  for (const place of places) place.dataset.drawn = "";
  if (typeof DecompressionStream === "undefined") {
    for (const place of places) place.textContent = "This needs a browser of 2023 or later.";
    return;
  }
  for (const figure of figures) chart(figure, await parsed("charts"));
  // The report wrote these tables, with every name escaped.
  for (const place of tables) place.innerHTML = (await parsed("engine"))[place.parentElement.dataset.engine];
}

/** Shows a flame graph. It has a document of its own, since each has a script and names of its own. */
async function flame(button) {
  const place = button.closest("details").querySelector("figure");
  for (const other of button.parentElement.children) other.setAttribute("aria-pressed", other === button);
  const frame = document.createElement("iframe");
  frame.title = button.textContent;
  frame.addEventListener("load", () => {
    frame.height = frame.contentDocument.documentElement.scrollHeight + 4;
  });
  // The report drew it, with every name escaped.
  frame.srcdoc = "<style>body { margin: 0 } svg { width: 100% }</style>" + await unpacked(button.dataset.flame);
  place.replaceChildren(frame);
}

/** Unfolds what the address leads to. */
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target?.closest("details:not([open])");
  if (!folded) return;
  folded.open = true;
  target.scrollIntoView();
}

drawAll();
for (const folded of document.querySelectorAll("details")) folded.addEventListener("toggle", drawAll);
addEventListener("hashchange", reveal);
reveal();
for (const folded of document.querySelectorAll("details.flames")) {
  folded.addEventListener("toggle", () => {
    if (folded.open && !folded.querySelector("iframe")) flame(folded.querySelector("button[data-flame]"));
  });
}
for (const button of document.querySelectorAll("button[data-flame]")) {
  button.addEventListener("click", () => flame(button));
}
for (const button of document.querySelectorAll("button[data-source]")) {
  button.addEventListener("click", () => save(button));
}
