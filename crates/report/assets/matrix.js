// The table that compares contenders with a chosen baseline.

/** Half the width of Student's 95 % interval in standard errors, by degrees of freedom from 1. */
const STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
  2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052,
  2.048, 2.045, 2.042];

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The mean of logs, and half the width of its interval; null for a single one. */
function estimate(logs) {
  const value = mean(logs);
  if (logs.length < 2) return { value, reach: null };
  const variance = logs.reduce((sum, log) => sum + (log - value) ** 2, 0) / (logs.length - 1);
  const times = STUDENT[logs.length - 2] ?? 1.96 + 2.5 / (logs.length - 1);
  return { value, reach: times * Math.sqrt(variance / logs.length) };
}

/** A contender against the baseline: logs of value, low and high, with its mark. */
function compared(matrix, row, contender, base = state.base) {
  const { measure } = state;
  const mark = row.marks[contender];
  const judged = measure === 0 && base === matrix.baseline && matrix.is_comparison;
  let found = null;
  if (judged && mark?.ratio > 0) {
    found = { value: Math.log(mark.ratio), low: mark.low && Math.log(mark.low), high: mark.high && Math.log(mark.high) };
  } else {
    const of = (index, round) => measure === 0 && row.logs.length > 0
      ? row.logs[index][round]
      : row.values[measure][index][round] > 0 ? Math.log(row.values[measure][index][round]) : null;
    const logs = row.rounds.map((_, round) => [of(contender, round), of(base, round)])
      .filter(([one, other]) => one != null && other != null)
      .map(([one, other]) => one - other);
    if (logs.length > 0 && contender !== base) {
      const { value, reach } = estimate(logs);
      found = { value, low: reach == null ? null : value - reach, high: reach == null ? null : value + reach };
    } else if (logs.length > 0) {
      found = { value: 0, low: null, high: null };
    }
  }
  if (found && state.view === "shift" && measure === 0) {
    const shift = (matrix.shifts[contender] ?? 0) - (matrix.shifts[base] ?? 0);
    for (const key of ["value", "low", "high"]) if (found[key] != null) found[key] -= shift;
  }
  // Verdicts include the suite shift, so none applies to a value without it.
  return { ...found, isKnown: found !== null, isJudged: judged && state.view !== "shift", mark };
}

/** The class of a cell by its mark; only verdicts have colours. */
function classOf({ mark, isJudged, isKnown }) {
  const said = mark?.class;
  if (said === "missed") return "hatched";
  if (said === "invalid" || (said === "unknown" && mark.text.startsWith("invalid"))) return "not-valid";
  if (!isJudged || !isKnown) return "";
  return { faster: "faster", slower: "slower", unknown: "inconclusive" }[said] ?? "";
}

/** Why a number is not a valid result, if so. */
function spoiltBy(cell) {
  const name = classOf(cell);
  // The label of the throughput follows it.
  if (name === "hatched") return cell.mark.text.split("; ")[0];
  return name === "not-valid" ? cell.mark.text : undefined;
}

/** The label of this number. */
function labelOf(cell) {
  return cell.isJudged ? cell.mark?.text : spoiltBy(cell);
}

/** As many decimals as the interval supports, by the rule in crates/stats/src/digits.rs. */
function ratio({ value, low, high }) {
  const reach = low == null || high == null ? Infinity : (Math.exp(high) - Math.exp(low)) / 2;
  const decimals = Math.ceil(Math.log10(3.55 / reach));
  return Math.exp(value).toFixed(Math.min(4, Math.max(2, decimals)));
}

function whisker(parent, cell, extent) {
  const width = 110;
  const x = log => (width / 2) * (1 + Math.max(-extent, Math.min(extent, log)) / extent);
  const svg = drawn(parent, "svg", { width, height: 10, class: "whisker", "aria-hidden": "true" });
  drawn(svg, "line", { class: "zero", x1: width / 2, x2: width / 2, y1: 0, y2: 10 });
  if (cell.low != null && cell.high != null) {
    drawn(svg, "line", { class: "interval", x1: x(cell.low), x2: x(cell.high), y1: 5, y2: 5 });
  }
  drawn(svg, "circle", { cx: x(cell.value), cy: 5, r: 2.2 });
}

function fillCell(td, cell, extent, isBase) {
  if (!cell.isKnown) {
    td.textContent = labelOf(cell) ?? "-";
    td.className = classOf(cell) || "missing";
    return;
  }
  td.className = isBase ? "reference" : classOf(cell);
  element(td, "b", ratio(cell));
  const name = td.classList[0];
  const mark = { faster: "▲", slower: "▼", hatched: "✕", "not-valid": "∅" }[name];
  if (mark) element(td, "span", mark, "mark");
  if (!isBase && cell.low != null || extent.all) whisker(td, cell, extent.value);
  // The label repeats in words what colours show.
  const says = labelOf(cell);
  if (says && !isBase) {
    const label = element(td, "small", says.replace(/ \(.*$/, ""));
    label.title = says;
  }
  const percents = cell.low == null ? percent(cell.value) : `${percent(cell.value)}, from ${percent(cell.low)} to ${percent(cell.high)}`;
  td.title = isBase ? "the baseline" : percents;
}

function fillAbsolute(td, values, cell) {
  const known = values.filter(value => value != null);
  if (known.length === 0) {
    td.textContent = spoiltBy(cell) ?? "-";
    td.className = "missing";
    return;
  }
  const value = mean(known);
  element(td, "b", format(value));
  if (known.length > 1) {
    const spread = estimate(known);
    element(td, "small", "± " + format(spread.reach));
    td.title = `mean of ${known.length} rounds, ${format(Math.min(...known))} to ${format(Math.max(...known))}`;
  }
  if (classOf(cell) === "hatched") {
    td.className = "hatched";
    element(td, "small", spoiltBy(cell));
  }
}

/** Rows in the chosen order. */
function ordered(matrix, columns) {
  if (state.sort !== "change") return matrix.rows;
  const size = row => Math.max(0, ...columns.map(index => Math.abs(compared(matrix, row, index).value ?? 0)));
  return [...matrix.rows].sort((one, other) => size(other) - size(one));
}

function shownColumns(matrix) {
  return matrix.contenders.map((_, index) => index).filter(index => !state.hide.has(index));
}

function drawMatrix(matrix) {
  const holder = document.getElementById("matrix-table");
  const columns = shownColumns(matrix);
  const isAbsolute = state.view === "absolute";
  const rows = ordered(matrix, columns);
  const cells = rows.map(row => columns.map(index => compared(matrix, row, index)));
  const ends = cells.flat().filter(cell => cell.isKnown).flatMap(cell => [cell.value, cell.low, cell.high])
    .filter(Number.isFinite).map(Math.abs);
  const extent = { value: 1.05 * Math.min(1.4, Math.max(0.02, ...ends)), all: !matrix.is_comparison };

  const measure = matrix.measures[state.measure];
  holder.replaceChildren();
  const better = measure.more_is_better ? "more" : "less";
  element(holder, "p", `${measure.name}, ${measure.unit}: ${measure.legend}; ${better} is better`, "note");
  const table = element(holder, "table", null, "matrix");
  const head = element(element(table, "thead"), "tr");
  element(head, "th", "test").scope = "col";
  for (const index of columns) {
    const th = element(head, "th", null);
    th.scope = "col";
    element(th, "span", matrix.contenders[index], "name");
    if (index === state.base && !isAbsolute) element(th, "small", "baseline");
    else if (!isAbsolute) {
      const scale = element(th, "span", null, "axis");
      for (const log of [-extent.value, 0, extent.value]) element(scale, "span", log ? percent(log).replace(/\.\d/, "") : "0");
    }
  }
  const body = element(table, "tbody");
  rows.forEach((row, at) => {
    if (state.sort !== "change" && (at === 0 || rows[at - 1].group !== row.group)) {
      const group = element(body, "tr", null, "group");
      const th = element(group, "th", row.group);
      th.scope = "rowgroup";
      th.colSpan = columns.length + 1;
    }
    const tr = element(body, "tr");
    const th = element(tr, "th");
    th.scope = "row";
    element(th, "a", row.name).href = "#" + encodeURIComponent(row.anchor);
    columns.forEach((index, column) => {
      const td = element(tr, "td");
      if (isAbsolute) fillAbsolute(td, row.values[state.measure][index], cells[at][column]);
      else fillCell(td, cells[at][column], extent, index === state.base);
    });
  });
}

/** The shown table as CSV: ratios or means of rounds, with intervals. */
function shownCsv(matrix) {
  const quoted = text => `"${String(text).replaceAll('"', '""')}"`;
  const number = value => value == null || !Number.isFinite(value) ? "" : String(Number(value.toPrecision(6)));
  const isAbsolute = state.view === "absolute";
  const measure = matrix.measures[state.measure];
  const view = { relative: "relative", shift: "relative to suite", absolute: "absolute" }[state.view];
  const lines = [["test", "group", "contender", "view", "baseline", "measure", "unit", "value", "low", "high", "verdict"]];
  const columns = shownColumns(matrix);
  for (const row of ordered(matrix, columns)) {
    for (const index of columns) {
      const cell = compared(matrix, row, index);
      const known = row.values[state.measure][index].filter(value => value != null);
      const { value, reach } = known.length > 0 ? estimate(known) : {};
      const values = isAbsolute
        ? [value, reach == null ? null : value - reach, reach == null ? null : value + reach]
        : [cell.value, cell.low, cell.high].map(log => log == null ? null : Math.exp(log));
      lines.push([row.name, row.group, matrix.contenders[index], view, isAbsolute ? "" : matrix.contenders[state.base],
        measure.name, isAbsolute ? measure.unit : "ratio", ...values.map(number), (isAbsolute ? spoiltBy(cell) : labelOf(cell)) ?? ""]);
    }
  }
  return lines.map(line => line.map(quoted).join(",") + "\n").join("");
}
