// A test over the releases of a DBMS: a line, and its intervals as a ribbon.

const PANEL = { width: 250, height: 104, left: 46, right: 14, top: 8, bottom: 20 };

/** A version without the packager's suffix. */
function short(version) {
  return version.match(/^[\d.]+/)?.[0] ?? version;
}

function drawHistories(holder, matrix, history) {
  const releases = history.releases
    .map(({ contender, version }) => ({ index: matrix.contenders.indexOf(contender), contender, version }))
    .filter(({ index }) => index >= 0 && !state.hide.has(index));
  const anchor = releases.find(({ index }) => index === state.base) ?? releases[0];
  holder.replaceChildren();
  if (releases.length < 2) {
    element(holder, "p", "Fewer than two of these releases are shown.", "note");
    return;
  }
  const rows = ordered(matrix, releases.map(({ index }) => index))
    .map(row => ({ row, cells: releases.map(({ index }) => compared(matrix, row, index, anchor.index)) }))
    .filter(({ cells }) => cells.filter(cell => cell.isKnown).length > 1);
  const ends = rows.flatMap(({ cells }) => cells.flatMap(cell => [cell.value, cell.low, cell.high]))
    .filter(Number.isFinite).map(Math.abs);
  const extent = 1.08 * Math.min(1.4, Math.max(0.02, ...ends));
  const measure = matrix.measures[state.measure];
  const better = measure.more_is_better ? "more" : "less";
  const note = element(holder, "p", `${measure.name}, ${measure.unit}, relative to ${anchor.contender}; ${better} is better`, "note");
  for (const { row, cells } of rows) drawHistory(holder, matrix, row, cells, releases, anchor, extent);
  if (rows.length > 0) saver(note, () => savePicture(holder, `History of ${history.name}`));
  else element(holder, "p", "No test has this measure for two releases.", "note");
}

function drawHistory(holder, matrix, row, cells, releases, anchor, extent) {
  const { width, height, left, right, top, bottom } = PANEL;
  const figure = element(holder, "figure", null, "history");
  const caption = element(figure, "figcaption");
  element(caption, "a", row.name).href = "#" + encodeURIComponent(row.anchor);
  const last = cells.findLast(cell => cell.isKnown);
  element(caption, "b", `${short(releases[cells.lastIndexOf(last)].version)}: ${ratio(last)}`);
  const x = at => left + (width - left - right) * at / (releases.length - 1);
  const y = log => top + (height - top - bottom) * (1 - Math.max(-extent, Math.min(extent, log)) / extent) / 2;
  const measure = matrix.measures[state.measure].name;
  const svg = drawn(figure, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${row.name}: ${measure} from ${releases[0].version} to ${releases.at(-1).version}` });
  for (const log of [-extent, 0, extent]) {
    drawn(svg, "line", { class: log === 0 ? "zero" : "grid", x1: left, x2: width - right, y1: y(log), y2: y(log) });
    drawn(svg, "text", { x: left - 5, y: y(log) + 4, "text-anchor": "end" }, log === 0 ? "0" : percent(log).replace(/\.\d/, ""));
  }
  const known = cells.map((cell, at) => ({ cell, at })).filter(({ cell }) => cell.isKnown);
  const wide = known.filter(({ cell }) => cell.low != null && cell.high != null || cell.value === 0);
  if (known.some(({ cell }) => cell.low != null)) {
    const upper = wide.map(({ cell, at }) => `${x(at)},${y(cell.high ?? 0)}`);
    const lower = wide.map(({ cell, at }) => `${x(at)},${y(cell.low ?? 0)}`).reverse();
    drawn(svg, "polygon", { class: "ribbon", points: [...upper, ...lower].join(" ") });
  }
  drawn(svg, "polyline", { points: known.map(({ cell, at }) => `${x(at)},${y(cell.value)}`).join(" ") });
  for (const [index, { cell, at }] of known.entries()) {
    const before = index > 0 ? known[index - 1].at : at;
    const step = compared(matrix, row, releases[at].index, releases[before].index);
    const isChange = step.low > 0 || step.high < 0;
    const dot = drawn(svg, "circle", { cx: x(at), cy: y(cell.value), r: isChange ? 5 : 3.2, class: isChange ? "change" : "" });
    const interval = cell.low == null ? "" : `, from ${percent(cell.low)} to ${percent(cell.high)}`;
    const said = cell.isJudged && cell.mark ? `; ${cell.mark.text}` : "";
    const told = releases[at] === anchor ? "the baseline of this history" : percent(cell.value) + interval + said;
    const since = isChange
      ? `; ${percent(step.value)} from ${releases[before].version}, from ${percent(step.low)} to ${percent(step.high)}` : "";
    drawn(dot, "title", {}, `${releases[at].contender} (${releases[at].version}): ${told}${since}`);
  }
  // As many versions as fit, always with the first and the last.
  const every = Math.ceil(releases.length / 4);
  releases.forEach(({ version }, at) => {
    const isLast = at === releases.length - 1;
    if (!isLast && (at % every !== 0 || at > releases.length - 1 - every / 2)) return;
    drawn(svg, "text", { x: x(at), y: height - 5, "text-anchor": at === 0 ? "start" : isLast ? "end" : "middle" }, short(version));
  });
}
