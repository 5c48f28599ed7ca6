// Saving charts as pictures and data as files.

function download(content, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name.replace(/[^\w.=@-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A button at the end of a heading. */
function saver(heading, save) {
  const button = element(heading, "button", "PNG", "small");
  button.type = "button";
  button.title = "save this chart as a picture";
  button.addEventListener("click", save);
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The height of a lane in a picture. */
function laneHeight(row) {
  return Math.max(14, Number(row.querySelector("svg").getAttribute("height")) + 3);
}

/** Background work below a chart: names and visible cells, on its axis. */
function drawLanes(pen, chart, rows, top) {
  const left = chart.over.offsetLeft;
  for (const row of rows) {
    const svg = row.querySelector("svg");
    const [from, , width] = svg.getAttribute("viewBox").split(" ").map(Number);
    pen.fillStyle = css("--fore");
    pen.fillText(row.querySelector("span").textContent, 8, top + 9);
    for (const rect of svg.querySelectorAll("rect")) {
      const [x, y, wide, high, opacity] = ["x", "y", "width", "height", "opacity"].map(name => Number(rect.getAttribute(name)));
      const ends = [x, x + wide].map(end => Math.max(0, Math.min(1, (end - from) / width)) * chart.over.clientWidth);
      pen.globalAlpha = opacity;
      pen.fillStyle = rect.parentElement.getAttribute("fill");
      pen.fillRect(left + ends[0], top + y, ends[1] - ends[0], high);
    }
    pen.globalAlpha = 1;
    top += laneHeight(row);
  }
  return top;
}

/** The chart with its title above, and its lanes and the names of its lines below. */
function saveCanvas(chart, title, file) {
  const source = chart.ctx.canvas;
  const ratio = source.width / chart.width;
  const lines = chart.series.slice(1).filter(line => line.show);
  const lanes = chart.root.parentElement.nextElementSibling;
  const rows = lanes?.matches(".lanes") ? [...lanes.children] : [];
  const below = rows.reduce((sum, row) => sum + laneHeight(row), 18 * lines.length);
  const canvas = document.createElement("canvas");
  canvas.width = source.width;
  canvas.height = source.height + (34 + below) * ratio;
  const pen = canvas.getContext("2d");
  pen.fillStyle = css("--back");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(source, 0, 24 * ratio);
  pen.scale(ratio, ratio);
  pen.font = "13px system-ui, sans-serif";
  pen.fillStyle = css("--fore");
  pen.fillText(`${file.split(" ")[0]}: ${title}`, 8, 16);
  const top = drawLanes(pen, chart, rows, chart.height + 26);
  lines.forEach((line, index) => {
    const y = top + 14 + 18 * index;
    pen.fillStyle = typeof line.stroke === "function" ? line.stroke() : line.stroke;
    pen.fillRect(12, y - 5, 18, 3);
    pen.fillStyle = css("--fore");
    pen.fillText(line.label, 38, y);
  });
  canvas.toBlob(blob => download(blob, "image/png", file + ".png"));
}

/**
 * The rules of the page in force. A picture has its own width and colour scheme, and would choose
 * others.
 */
function rules() {
  const texts = list => [...list].map(rule => {
    if (!(rule instanceof CSSMediaRule)) return rule.cssText;
    return matchMedia(rule.conditionText).matches ? texts(rule.cssRules) : "";
  }).join("\n");
  return [...document.styleSheets].map(sheet => texts(sheet.cssRules)).join("\n");
}

/** Saves a part of the page that consists of elements, such as a table of plots, with its name. */
function savePicture(part, name) {
  const right = Math.max(...[...part.children].map(child => child.getBoundingClientRect().right));
  const frame = element(document.body, "div", null, "picture");
  element(frame, "h3", name);
  frame.append(part.cloneNode(true));
  for (const button of frame.querySelectorAll("button")) button.remove();
  // All of it, also the part that the page scrolls.
  frame.style.width = `${Math.ceil(right - part.getBoundingClientRect().left + part.scrollLeft)}px`;
  const { offsetWidth: width, offsetHeight: height } = frame;
  // It was added to be measured only, and is never visible.
  frame.remove();
  element(frame, "style", rules());
  const content = new XMLSerializer().serializeToString(frame);
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    // Twice the resolution of the page, within the limits of browsers for a canvas.
    const scale = Math.min(2, 16384 / Math.max(width, height));
    [canvas.width, canvas.height] = [scale * width, scale * height];
    const pen = canvas.getContext("2d");
    pen.fillStyle = css("--back");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => download(blob, "image/png", name + ".png"));
  };
  const text = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">`
    + `<foreignObject width="100%" height="100%">${content}</foreignObject></svg>`;
  // With any other address, browsers would not export the picture.
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}
