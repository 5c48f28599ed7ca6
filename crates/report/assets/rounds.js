// The rounds of a test as dots.

/** Round values from one to another, three to seven of them. */
function ticks(low, high) {
  const power = 10 ** Math.floor(Math.log10((high - low) / 3));
  const step = power * [5, 2, 1].find(times => (high - low) / (power * times) >= 3);
  const from = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - from + 1 }, (_, index) => Number(((from + index) * step).toPrecision(12)));
}

function drawRounds(figure, matrix) {
  const row = matrix.rows.find(row => row.name === figure.dataset.row);
  const measure = matrix.measures[state.measure];
  const meaning = /operation/.test(measure.unit) ? ` (an operation is a ${row.operation})` : "";
  const title = `${measure.name}, ${measure.unit}, by round${meaning}`;
  // The A/A control is drawn as a ring.
  const isControl = index => matrix.is_comparison && index === matrix.contenders.length - 1 && matrix.contenders[index] === "A/A control";
  figure.replaceChildren();
  const heading = element(figure, "h4", title);
  const shown = matrix.contenders.map((_, index) => index).filter(index => !state.hide.has(index));
  const all = shown.flatMap(index => row.values[state.measure][index]).filter(value => value != null);
  if (all.length === 0) {
    element(figure, "p", "No measurement counts.", "note");
    return;
  }
  const width = Math.max(280, figure.clientWidth);
  const height = 220;
  const [left, right, top, bottom] = [AXIS, 12, 10, 34];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const pad = most > least ? 0.06 * (most - least) : Math.max(1e-9, 0.05 * Math.abs(most));
  const [low, high] = [least - pad, most + pad];
  const discarded = row.discarded.map(pass => pass.round);
  const numbers = [...new Set([...row.rounds, ...discarded])].sort((one, other) => one - other);
  const step = (width - left - right) / numbers.length;
  const x = round => left + step * (numbers.indexOf(round) + 0.5);
  const y = value => top + (height - top - bottom) * (high - value) / (high - low);
  const svg = drawn(figure, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", class: "dots",
    "aria-label": `${row.name}: ${title}` });
  for (const value of ticks(low, high)) {
    drawn(svg, "line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) });
    drawn(svg, "text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, format(value));
  }
  const every = Math.ceil(numbers.length / (width / 40));
  numbers.forEach((round, index) => {
    if (index % every === 0) drawn(svg, "text", { x: x(round), y: height - 4, "text-anchor": "middle" }, round);
  });
  drawn(svg, "text", { x: left - 6, y: height - 4, "text-anchor": "end" }, "round");
  for (const round of discarded) {
    const why = row.discarded.find(pass => pass.round === round).why;
    const cross = drawn(svg, "text", { class: "discarded", x: x(round), y: height - 18, "text-anchor": "middle" }, "✕");
    drawn(cross, "title", {}, why);
  }
  row.rounds.forEach((round, at) => {
    const values = shown.map(index => row.values[state.measure][index][at]);
    const known = values.filter(value => value != null);
    if (known.length > 1) {
      drawn(svg, "line", { class: "joined", x1: x(round), x2: x(round), y1: y(Math.min(...known)), y2: y(Math.max(...known)) });
    }
    shown.forEach((index, of) => {
      if (values[of] == null) return;
      const dot = drawn(svg, "circle", { cx: x(round), cy: y(values[of]), r: 4, stroke: colour(index), "stroke-width": 1.5,
        fill: isControl(index) ? "none" : colour(index) });
      drawn(dot, "title", {}, `${matrix.contenders[index]}, round ${round}: ${format(values[of])} ${measure.unit}`);
    });
  });
  const legend = element(figure, "div", null, "dots-legend");
  for (const index of shown) {
    const name = element(legend, "span", null);
    const swatch = element(name, "span", null, isControl(index) ? "swatch ring" : "swatch");
    swatch.style.background = swatch.style.borderColor = colour(index);
    name.append(" " + matrix.contenders[index]);
  }
  saver(heading, () => savePicture(figure, `${row.name} rounds`));
}
