// Saving charts as pictures and data as files, and copying.

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

/** The chart with its title above and the names of its lines below. */
function saveCanvas(chart, title, file) {
  const source = chart.ctx.canvas;
  const ratio = source.width / chart.width;
  const lines = chart.series.slice(1).filter(line => line.show);
  const canvas = document.createElement("canvas");
  canvas.width = source.width;
  canvas.height = source.height + (34 + 18 * lines.length) * ratio;
  const pen = canvas.getContext("2d");
  pen.fillStyle = css("--back");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(source, 0, 24 * ratio);
  pen.scale(ratio, ratio);
  pen.font = "13px system-ui, sans-serif";
  pen.fillStyle = css("--fore");
  pen.fillText(`${file.split(" ")[0]}: ${title}`, 8, 16);
  lines.forEach((line, index) => {
    const y = chart.height + 40 + 18 * index;
    pen.fillStyle = typeof line.stroke === "function" ? line.stroke() : line.stroke;
    pen.fillRect(12, y - 5, 18, 3);
    pen.fillStyle = css("--fore");
    pen.fillText(line.label, 38, y);
  });
  canvas.toBlob(blob => download(blob, "image/png", file + ".png"));
}

/** An SVG with the styles of the page. */
function saveSvg(svg, file) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  const names = ["--back", "--fore", "--dim", "--line", "--panel", "--bar", "--more"];
  const values = names.map(name => `${name}:${css(name)}`).join(";");
  const page = [...document.querySelectorAll("style")].map(sheet => sheet.textContent).join("");
  style.textContent = `${page} svg{font:12px sans-serif} :root{${values}}`;
  copy.prepend(style);
  const { width, height } = svg.getBoundingClientRect();
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * width, 2 * height];
    const pen = canvas.getContext("2d");
    pen.fillStyle = css("--back");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => download(blob, "image/png", file + ".png"));
  };
  const text = new XMLSerializer().serializeToString(copy);
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
}

async function copy(button) {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "copied";
  } catch {
    // Where a page may not write to the clipboard, its reader may.
    const area = element(button.parentElement, "textarea");
    area.value = button.dataset.copy;
    area.select();
    button.textContent = "press Ctrl-C";
  }
  setTimeout(() => { button.textContent = said; }, 2000);
}
