"use strict";
// Draws the per-second charts from the data in the page, and offers that data for saving.

const result = JSON.parse(document.getElementById("result").textContent);

// After Okabe and Ito, without the colours that vanish on white or on black; a ninth contender starts
// over with a dashed line.
const COLOURS = ["#1f86cc", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8c8c8c", "#a89600"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
// More lines than this cannot be told apart; the others are shown by a click in the legend.
const LINES = 8;
const GREY = "#888";

// What a second of an operation counts: inserts and deletes by row, queries by statement.
const COUNTED = { insert: "rows", delete: "rows", query: "operations", transaction: "operations" };
const LABELS = { insert: "Inserts", delete: "Deletes", query: "Queries", transaction: "Transactions" };
const TITLES = {
  insert: "Rows inserted per second", delete: "Rows deleted per second", query: "Queries per second",
  transaction: "Transactions per second",
};

/** Without the last second if the step ended within it, since its count is not a rate. */
function whole(entry, values) {
  return entry.seconds >= 1 ? values.slice(0, Math.floor(entry.seconds)) : values;
}

function rates(entry, operation) {
  const counts = whole(entry, entry.work[operation].seconds[COUNTED[operation]]);
  const isShort = entry.seconds > 0 && entry.seconds < 1;
  return isShort ? counts.map(count => count / entry.seconds) : counts;
}

/** Milliseconds; a second without an operation has none. */
function longest(entry, operation) {
  const values = whole(entry, entry.work[operation].seconds.max_service_ns);
  return values.map(ns => ns > 0 ? ns / 1e6 : null);
}

function format(value) {
  if (value == null) return "-";
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

function plot(parent, entries, values, scale, sync) {
  const columns = entries.map(values);
  const seconds = Math.max(1, ...columns.map(column => column.length));
  const xs = Array.from({ length: seconds }, (_, index) => index + 1);
  const ys = columns.map(column => xs.map((_, index) => column[index] ?? null));
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

function draw(parent, step, operation) {
  parent.replaceChildren();
  const entries = step.results.filter(entry => entry.work[operation]);
  const sync = step.name + operation;
  if (entries.length > LINES) {
    const note = `The first ${LINES} of ${entries.length} are drawn. A click on a name shows or hides it.`;
    element(parent, "p", note).className = "note";
  }
  element(parent, "h4", TITLES[operation]);
  plot(element(parent, "div"), entries, entry => rates(entry, operation),
    { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] }, sync);
  element(parent, "h4", "Longest service time in each second, ms (logarithmic)");
  plot(element(parent, "div"), entries, entry => longest(entry, operation),
    { distr: 3, range: (_, min, max) => max > 0 ? uPlot.rangeLog(min, max, 10, true) : [0.1, 10] }, sync);
}

/** Buttons for the operations of a step, where there is more than one. */
function chart(figure) {
  const step = result.steps.find(step => step.name === figure.dataset.step);
  const operations = Object.keys(COUNTED)
    .filter(operation => step.results.some(entry => entry.work[operation]?.operations > 0));
  if (operations.length === 0) {
    figure.textContent = "No operation ended.";
    return;
  }
  figure.replaceChildren();
  const choice = element(figure, "div");
  choice.className = "choice";
  const body = element(figure, "div");
  const choose = operation => {
    for (const button of choice.children) {
      button.setAttribute("aria-pressed", button.textContent === LABELS[operation]);
    }
    draw(body, step, operation);
  };
  if (operations.length > 1) {
    for (const operation of operations) {
      const button = element(choice, "button", LABELS[operation]);
      button.type = "button";
      button.addEventListener("click", () => choose(operation));
    }
  }
  choose(operations.includes("query") ? "query" : operations[0]);
}

function save(button) {
  const text = document.getElementById(button.dataset.source).textContent;
  const isJson = button.dataset.file.endsWith(".json");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([isJson ? text : JSON.parse(text)]));
  link.download = button.dataset.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Draws what can be seen. What is folded is drawn when it is unfolded: there is much of it. */
function drawAll() {
  for (const figure of document.querySelectorAll("figure.chart:not([data-drawn])")) {
    if (figure.closest("details:not([open])")) continue;
    figure.dataset.drawn = "";
    chart(figure);
  }
  for (const folded of document.querySelectorAll("details[data-engine][open]:not([data-drawn])")) {
    folded.dataset.drawn = "";
    engine(folded);
  }
}

/** What the DBMS counted in a step, in all and per operation, with two columns for each contender. */
function engine(folded) {
  const step = result.steps.find(step => step.name === folded.dataset.engine);
  const entries = step.results.filter(entry => entry.status === "done");
  const counted = entries.map(entry => ({ ...entry.engine.counters, ...entry.engine.gauges }));
  const names = [...new Set(counted.flatMap(Object.keys))].sort();
  const scroll = element(folded, "div");
  scroll.className = "scroll";
  const table = element(scroll, "table");
  const head = element(element(table, "thead"), "tr");
  for (const title of ["counter", ...entries.flatMap(entry => [entry.contender, "/o"])]) {
    element(head, "th", title);
  }
  const body = element(table, "tbody");
  for (const name of names) {
    const row = element(body, "tr");
    element(row, "th", name);
    entries.forEach((entry, index) => {
      const operations = entry.throughput * entry.seconds;
      const each = operations > 0 ? entry.engine.counters[name] / operations : NaN;
      element(row, "td", String(counted[index][name] ?? "-"));
      element(row, "td", Number.isFinite(each) ? format(each) : "-");
    });
  }
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
for (const button of document.querySelectorAll("button[data-source]")) {
  button.addEventListener("click", () => save(button));
}
