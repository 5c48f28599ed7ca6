// The rounds of a test over time: medians as lines, their spread as ribbons.

const CYCLES = { ...SECONDS, label: "cycle of the round", axis: { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] } };

/** Fills the ribbons of visible lines, below the lines. */
function ribbons(lines, xs) {
  return chart => {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    lines.forEach((line, index) => {
      if (!chart.series[index + 1].show) return;
      const at = (value, x) => [chart.valToPos(x, "x", true), chart.valToPos(value, "y", true)];
      const known = xs.map((_, place) => place).filter(place => line.low[place] > 0 && line.high[place] > 0 || line.low[place] === 0 && !line.isLog);
      ctx.beginPath();
      for (const place of known) ctx.lineTo(...at(line.high[place], xs[place]));
      for (const place of known.reverse()) ctx.lineTo(...at(line.low[place], xs[place]));
      ctx.closePath();
      ctx.globalAlpha = 0.16;
      ctx.fillStyle = colour(place(line.contender));
      ctx.fill();
    });
    ctx.restore();
  };
}

/** Each round of the line under the pointer, over the middles of its stretches. */
function eachRound(lines, stretch) {
  let chosen = null;
  const draw = chart => {
    const line = lines[chosen];
    if (!line || !chart.series[chosen + 1].show) return;
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = colour(place(line.contender));
    ctx.globalAlpha = 0.6;
    ctx.lineWidth = devicePixelRatio;
    for (const round of line.rounds) {
      ctx.beginPath();
      round.forEach((value, index) => {
        const x = state.x === "progress" ? 100 * (index + 0.5) / round.length : index * stretch + (stretch + 1) / 2;
        ctx.lineTo(chart.valToPos(x, "x", true), chart.valToPos(value, "y", true));
      });
      ctx.stroke();
    }
    ctx.restore();
  };
  const choose = (chart, series, { focus }) => {
    if (focus === undefined) return;
    chosen = focus && series != null ? series - 1 : null;
    chart.redraw(false, false);
  };
  return { draw, choose };
}

function drawCurve(figure, curves, key, { title, over, xs, isLog, sync, least = 0 }, data) {
  if (!curves.lines.some(line => line[key].mid.some(value => value > least))) return;
  const lines = curves.lines
    .filter(line => !state.hide.has(place(line.contender)) && line[key].mid.some(value => value > 0))
    .map(line => {
      const [low, mid, high] = ["low", "mid", "high"]
        .map(of => over === PROGRESS ? byProgress(line[key][of]) : line[key][of]);
      const values = xs.map((_, index) => isLog && !(mid[index] > 0) ? null : mid[index] ?? null);
      return { contender: line.contender, name: line.contender, values, low, high, isLog, rounds: key === "rate" ? line.rounds : [] };
    });
  if (lines.length === 0) return;
  // One extreme round must not flatten the lines of all others.
  const drawnLines = lines.slice(0, LINES);
  const [most, middle] = ["high", "values"].map(of => Math.max(...drawnLines.flatMap(line => line[of])));
  const scale = isLog ? LOG : { range: () => [0, 1.05 * Math.min(most, 2 * middle)] };
  const hooks = { drawAxes: [ribbons(lines, xs)] };
  if (lines.some(line => line.rounds.length > 0)) {
    const { draw, choose } = eachRound(lines, curves.stretch_of_rounds);
    hooks.drawAxes.push(draw);
    hooks.setSeries = [choose];
  }
  const lasted = new Map(curves.lines.map(line => [line.contender, line[key].mid.length * curves.stretch]));
  plotWithLanes(figure, { title, file: `${curves.test} ${title}`, xs, lines, scale, over, hooks, sync }, data, lasted);
}

function drawCurves(figure, curves) {
  const refocus = cleared(figure);
  const isSeconds = curves.of === "second";
  const longest = Math.max(...curves.lines.map(line => line.rate.mid.length));
  const places = Array.from({ length: longest }, (_, index) => index * curves.stretch + (curves.stretch + 1) / 2);
  const isProgress = isSeconds && state.x === "progress";
  const [over, xs] = isProgress ? [PROGRESS, HUNDREDTHS] : [isSeconds ? SECONDS : CYCLES, places];
  const sync = curves.test;
  if (isSeconds) axisChoice(element(figure, "div"));
  if (curves.stretch > 1) element(figure, "p", `A point stands for ${curves.stretch} ${curves.of}s; the ribbon goes from their lowest to their highest.`, "note");
  drawCurve(figure, curves, "rate", { title: curves.title, over, xs, sync }, curves);
  drawCurve(figure, curves, "longest", { title: "Longest service time in each second, ms (logarithmic)", over, xs, isLog: true, sync });
  drawCurve(figure, curves, "cpu", { title: isSeconds ? "CPUs used by the server" : "The server's CPU per statement, us", over, xs, sync });
  drawCurve(figure, curves, "read", { title: "MiB per second read from storage", over, xs, sync, least: LEAST });
  drawCurve(figure, curves, "written", { title: "MiB per second written to storage", over, xs, sync, least: LEAST });
  for (const { title, lines } of curves.times) {
    const quarters = Math.max(...lines.map(line => line.ms.mid.length));
    drawCurve(figure, { ...curves, lines }, "ms", {
      title: `${title}, by percentile, ms (logarithmic)`, over: NINES, isLog: true,
      xs: Array.from({ length: quarters }, (_, index) => index / 4),
    });
  }
  refocus();
}
