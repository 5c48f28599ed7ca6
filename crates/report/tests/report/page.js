// Appended to a copy of a report by the tests: uses the page as a reader would, and leaves what it saw
// in an element of its own.
addEventListener("load", async () => {
  const pause = () => new Promise(done => setTimeout(done, 20));
  /** What is drawn or saved takes its time. */
  const until = async isSo => {
    for (let times = 0; times < 1500 && !isSo(); times += 1) await pause();
    return isSo();
  };
  const faults = [];
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const texts = selector => all(selector).map(found => found.textContent);
  const table = () => all("#matrix-table tbody tr:not(.group)")
    .map(row => [...row.cells].map(cell => (cell.querySelector("a, b") ?? cell).textContent));
  /** Only tables may be wider than the page, each in a box of its own. */
  const fits = when => {
    const { scrollWidth, clientWidth } = document.body;
    if (scrollWidth <= clientWidth) return;
    const { right } = document.body.getBoundingClientRect();
    const wide = all("body *").filter(part => part.getBoundingClientRect().right > right && !part.parentElement.closest(".scroll"));
    faults.push(`${scrollWidth - clientWidth} px too wide ${when}: ${wide.slice(0, 3).map(part => part.outerHTML.slice(0, 80)).join(" ")}`);
  };
  await new Promise(done => setTimeout(done, 700));
  const seen = {
    back: getComputedStyle(document.body).backgroundColor,
    hash: location.hash, shown: table(), heads: texts("#matrix-table thead .name"),
    tables: {},
  };
  // By where they are and what is written above them, which for what can be folded does not say of whom it is;
  // of several below one heading by their number.
  const read = heading => {
    const name = [heading.closest("section[id], details[id]").id, heading.matches("summary") && heading.closest("[data-of]")?.dataset.of, heading.textContent];
    let part = heading.nextElementSibling;
    for (let number = 1; part?.matches(".scroll:has(> table)"); number += 1, part = part.nextElementSibling) {
      const rows = [...part.querySelector("table").rows].map(row => [...row.cells].map(cell => cell.textContent));
      seen.tables[[...name, number > 1 ? number : null].filter(word => word).join(" ")] = rows;
    }
  };
  for (const heading of all("main h3, main h4, main summary")) read(heading);
  fits("at first");

  /** Not even the first or the last second of a lane is cut off. */
  const lanesFit = () => {
    for (const svg of all(".lane svg")) {
      const [from, , width] = svg.getAttribute("viewBox").split(" ").map(Number);
      for (const rect of all("rect", svg)) {
        const [x, wide] = ["x", "width"].map(name => Number(rect.getAttribute(name)));
        if (!(x + wide > from && x < from + width)) faults.push(`what is from ${x} on is cut off in a lane of ${width} from ${from} on`);
      }
    }
  };
  const leave = () => {
    const left = document.createElement("script");
    left.type = "application/json";
    left.id = "seen";
    left.textContent = JSON.stringify({ ...seen, faults: faults.slice(0, 9) }).replaceAll("<", "\\u003c");
    document.body.append(left);
  };
  // Of a view that was chosen by its address, only what it shows is looked at.
  if (location.hash.includes("&")) {
    lanesFit();
    const whole = all(".plot").map(holder => holder.previousElementSibling.querySelector("button")).find(button => !button.hidden);
    if (location.hash.includes("zoom=") && !whole) faults.push("all is shown where less was chosen");
    whole?.click();
    await pause();
    if (location.hash.includes("zoom=")) faults.push("what was chosen stays when all is shown");
    seen.lanes = texts(".lane > span");
    seen.cells = all(".lane rect").map(rect => [rect.getAttribute("x"), rect.getAttribute("width")].map(Number));
    seen.open = all("details[open]").map(folded => folded.dataset.fold);
    return leave();
  }

  const ids = all("[id]").map(part => part.id);
  if (new Set(ids).size !== ids.length) faults.push("an id twice");

  // The place that a link leads to is there, unfolded, and its first line is below the contents.
  const links = () => all('a[href^="#"]');
  for (const address of new Set(links().map(link => link.getAttribute("href")))) {
    links().find(link => link.getAttribute("href") === address).click();
    await pause();
    const target = document.getElementById(decodeURIComponent(address.slice(1)));
    const line = target?.querySelector("h2, h3, summary") ?? target;
    const { top } = line?.getBoundingClientRect() ?? {};
    const { bottom } = document.querySelector("nav").getBoundingClientRect();
    if (!line?.checkVisibility() || !(top > bottom - 1 && top < innerHeight)) {
      faults.push(`${address} leads to ${top}, and the contents end at ${bottom}`);
    }
  }

  for (const folded of all("details:not([open])")) {
    const summary = folded.querySelector("summary");
    summary.click();
    await pause();
    if (!folded.open) faults.push(`${summary.textContent} stays folded`);
    const inAddress = `open=${encodeURIComponent(folded.dataset.fold)}`;
    if (!location.hash.split("&").includes(inAddress)) faults.push(`${location.hash} does not have ${inAddress}`);
  }
  const undrawn = () => all("main noscript, figure.rounds:not(:has(svg, p)), [data-engine]:empty");
  if (!await until(() => undrawn().length === 0)) faults.push(`not drawn: ${undrawn()[0].outerHTML.slice(0, 80)}`);
  fits("unfolded");
  lanesFit();
  // What a DBMS counted is only put into the page now.
  seen.engine = Object.fromEntries(all("[data-engine]").map(folded => [folded.dataset.engine,
    all("table", folded).map(table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent)))]));

  // A name below a chart takes its line away and brings it back.
  for (const row of all(".u-series:nth-child(2)")) {
    const isOff = () => row.classList.contains("u-off");
    const before = isOff();
    for (const after of [!before, before]) {
      row.querySelector("th").click();
      if (isOff() !== after) faults.push(`${row.textContent} below a chart does nothing`);
    }
  }

  const press = async (key, at = document.body) => {
    at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await pause();
  };
  // Without a pointer: less of the axis or all of it, the cursor, and a name by its key. Nothing has been pointed at yet.
  const zoomed = () => location.hash.includes("zoom=");
  const showAll = holder => all("button", holder.previousElementSibling).find(button => button.textContent === "show all");
  for (const holder of [".chart .plot", ".curves .plot"].flatMap(selector => all(selector).slice(0, 2))) {
    const said = holder.getAttribute("aria-label");
    const whole = showAll(holder);
    for (const unzoom of [() => press("0", holder), () => whole.click()]) {
      await press("+", holder);
      if (whole.hidden || !zoomed()) faults.push(`+ does not show less of ${said}: ${location.hash}`);
      await unzoom();
      await pause();
      if (!whole.hidden || zoomed()) faults.push(`not all is shown again of ${said}: ${location.hash}`);
    }
    const at = () => holder.querySelector(".u-value").textContent;
    await press("ArrowRight", holder);
    const first = at();
    await press("ArrowLeft", holder);
    if (at() === first && holder.chart.data[0].length > 1) faults.push(`the cursor stays at ${first} of ${said}`);
    const label = all(".u-label", holder)[1];
    const isOff = () => label.closest("tr").classList.contains("u-off");
    const before = isOff();
    for (const [key, isSo] of [["Enter", !before], [" ", before]]) {
      await press(key, label);
      if (isOff() !== isSo || label.getAttribute("aria-pressed") !== String(!isSo)) faults.push(`"${key}" does nothing to a name below ${said}`);
    }
  }

  // Whose name is reached has its rounds drawn, if it has any; alone in its chart, so that nobody else fades.
  seen.singly = [];
  for (const holder of all("figure.curves").map(figure => figure.querySelector(".plot")).filter(plot => plot)) {
    const [one, ...others] = all(".u-label", holder).slice(1);
    const toggle = async () => {
      for (const label of others) await press("Enter", label);
    };
    const picture = () => holder.querySelector("canvas").toDataURL();
    await toggle();
    const before = picture();
    one.focus();
    await pause();
    seen.singly.push(picture() !== before);
    one.blur();
    await pause();
    if (picture() !== before) faults.push(`rounds stay in ${holder.getAttribute("aria-label")}`);
    await toggle();
  }

  const choose = document.getElementById("choose");
  const set = async (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await pause();
  };
  // The keys that the page tells of: what each changes, and whether there is anything to change.
  const ofField = name => [() => choose.elements[name].value, choose?.elements[name].options.length > 1];
  const keys = {
    e: [() => all("details:not([open])").length === 0, all("details").length > 0],
    x: [() => texts("main button[aria-pressed=true]").find(text => text.startsWith("over ")) ?? location.hash, true],
    b: ofField("base"), m: ofField("measure"), v: ofField("view"),
  };
  const told = texts("kbd:not(.chart)").flatMap(names => names.split(", "));
  if (told.length > 0) {
    // With room below, so that each part can be at the top.
    document.body.style.paddingBottom = "100vh";
    const [first, second, third] = all("main section[id], main details.test").filter(part => part.checkVisibility()).map(part => part.id);
    scrollTo(0, 0);
    const led = [];
    for (const key of "jjjk") {
      await press(key);
      led.push(decodeURIComponent(location.hash.slice(1).split("&")[0]));
    }
    if (led.join() !== [first, second, third, second].join()) faults.push(`j, j, j and k lead to ${led}`);
    document.body.style.paddingBottom = "";
  }
  for (const key of told.filter(key => key !== "j" && key !== "k")) {
    const [shows, isOfUse] = keys[key] ?? [() => "nobody told the test what it does", true];
    if (!isOfUse) continue;
    const before = shows();
    if (choose) await press(key, choose.elements.base);
    if (shows() !== before) faults.push(`${key} is taken from a field`);
    await press(key);
    if (shows() === before) faults.push(`${key} changes nothing: ${before}`);
    for (let times = 0; times < 60 && shows() !== before; times += 1) await press(key);
    if (shows() !== before) faults.push(`${key} does not lead back to ${before}`);
  }

  seen.views = {};
  const judged = Object.fromEntries(["measure", "base", "view"].map(name => [name, choose?.elements[name].value]));
  const drawing = () => document.getElementById("matrix-table").innerHTML;
  for (const field of choose ? [...choose.elements].filter(field => field.name) : []) {
    const [before, first] = [field.value, drawing()];
    for (const option of [...field.options].reverse()) {
      await set(field, option.value);
      const chosen = `${field.name} ${option.value}`;
      const rows = table();
      seen.views[chosen] = rows;
      if (rows.length === 0) faults.push(`no rows with ${chosen}`);
      if (rows.flat().some(text => /NaN|undefined|Infinity/.test(text))) faults.push(`nonsense with ${chosen}`);
      // What was judged is about throughput as it was measured, relative to the baseline.
      const isJudged = ["measure", "base", "view"].every(name => choose.elements[name].value === judged[name])
        || field.name === "view" && option.value === "absolute";
      const said = all("#matrix-table td:not(.hatched, .not-valid, .reference)")
        .map(cell => cell.matches(".missing") ? cell.textContent : cell.querySelector("small")?.textContent ?? "-");
      if (!isJudged && said.some(text => text !== "-")) faults.push(`${chosen} has ${said.find(text => text !== "-")}`);
      if (option.value === before) continue;
      if (!location.hash.includes(`${field.name}=${option.value}`)) faults.push(`${location.hash} lacks ${chosen}`);
      if (drawing() === first) faults.push(`${chosen} shows the same as ${before}`);
    }
    await set(field, before);
  }

  // A link in the page keeps what was chosen; another address, as when one goes back, is another view.
  if (choose) {
    const sort = choose.elements.sort;
    const was = sort.value;
    await set(sort, "change");
    links()[0].click();
    await pause();
    if (sort.value !== "change") faults.push("a link forgets what was chosen");
    location.hash = "#relative";
    await pause();
    if (sort.value !== was) faults.push("another address keeps what was chosen before");
    if (all("details[id][open]").length > 0) faults.push("another address leaves what was unfolded before");
    for (const folded of all("details:not([open])")) folded.open = true;
    await until(() => undrawn().length === 0);
  }

  for (const button of all("[data-contender]").slice(0, 4)) {
    const columns = () => all("#matrix-table thead th").length;
    const before = columns();
    const name = button.textContent.trim();
    button.click();
    await pause();
    if (columns() !== before - 1) faults.push(`${name} stays in the table`);
    if (texts("figure .u-label").includes(name)) faults.push(`${name} stays in a chart`);
    if (button.getAttribute("aria-pressed") !== "false") faults.push(`${name} is said to be shown`);
    for (const part of all("[data-of]")) {
      if (part.hidden !== (part.dataset.of === name)) faults.push(`${part.dataset.of} while ${name} is hidden`);
    }
    // Others are relative to the baseline, and say so.
    const isBase = choose && choose.elements.base.selectedOptions[0].text === name;
    const still = all("main *").filter(part => part.childElementCount === 0 && part.checkVisibility()
      && !part.closest(".contenders, option, pre, code, .legend, #verdicts > ul, .note")
      && (part.title === name || part.textContent.trim().startsWith(name + ": ") || part.textContent.trim() === name));
    if (!isBase && still.length > 0) faults.push(`${name} is hidden and still in ${still[0].parentElement.outerHTML.slice(0, 120)}`);
    button.click();
    await pause();
    if (columns() !== before) faults.push(`${name} does not come back`);
  }

  // Every choice of every chart; the axis is that of all of them.
  const axes = new Set();
  for (const figure of all("figure.chart, figure.curves")) {
    const labels = isPressed => all(`button[aria-pressed=${isPressed}]`, figure).map(button => button.textContent);
    const pick = async label => {
      const button = all("button[aria-pressed]", figure).find(button => button.textContent === label);
      button.focus();
      button.click();
      await pause();
      if (document.activeElement.textContent !== label) faults.push(`the keyboard is lost with ${label}`);
      if (!labels(true).includes(label)) faults.push(`${label} cannot be chosen in ${figure.dataset.step ?? figure.dataset.test}`);
    };
    const before = labels(true);
    for (const label of labels(false)) {
      const isAxis = label.startsWith("over ");
      if (isAxis && axes.has(label)) continue;
      if (isAxis) axes.add(label);
      await pick(label);
    }
    for (const label of before) if (!labels(true).includes(label)) await pick(label);
  }

  // Every flame graph, and in each a function that is zoomed to.
  seen.flames = 0;
  for (const button of all("button[data-flame]")) {
    button.click();
    const frame = () => button.closest("details").querySelector("iframe");
    // Its own script has begun.
    const isDrawn = () => frame()?.title === button.textContent && frame().contentWindow?.unzoombtn;
    if (!await until(isDrawn) || button.getAttribute("aria-pressed") !== "true") {
      faults.push(`${button.textContent} is not drawn`);
      continue;
    }
    await pause();
    const graph = frame().contentDocument;
    for (const [part, isZoomed] of [["#frames > g:last-child", true], ["#unzoom", false]]) {
      graph.querySelector(part).dispatchEvent(new MouseEvent("click", { bubbles: true }));
      const isHidden = graph.getElementById("unzoom").classList.contains("hide");
      if (isHidden === isZoomed) faults.push(`${part} of ${button.textContent} does nothing`);
    }
    seen.flames += 1;
  }

  // Files and copies end here. An idle browser would take its time for pictures. The first copy is
  // refused, as a browser may, and must then be there to be selected.
  const [saved, copied, sizes] = [[], [], new Map()];
  let csv = "";
  // Read when it is made: the time of such a browser runs ahead of whoever reads it later.
  window.Blob = class extends Blob {
    constructor(parts, options) {
      super(parts, options);
      if (this.type === "text/csv") csv = parts.join("");
    }
  };
  const create = URL.createObjectURL;
  URL.createObjectURL = content => {
    const address = create.call(URL, content);
    sizes.set(address, content.size);
    return address;
  };
  HTMLAnchorElement.prototype.click = function () {
    saved.push({ name: this.download, size: sizes.get(this.href) ?? 0 });
  };
  HTMLCanvasElement.prototype.toBlob = function (done, type) {
    done(new Blob([this.toDataURL(type)], { type }));
  };
  const writeText = async text => {
    copied.push(text);
    if (copied.length === 1) throw new Error("refused");
  };
  Object.defineProperty(navigator, "clipboard", { value: { writeText } });
  let due = 0;
  for (const button of all("main button:not([data-contender], [data-flame], [aria-pressed], [hidden])")) {
    const [said, text] = [button.textContent, button.dataset.copy];
    button.click();
    await pause();
    if (text === undefined) {
      due += 1;
      continue;
    }
    if (copied.at(-1) !== text || button.textContent === said) faults.push(`${said} does nothing`);
    if (copied.length === 1 && !all("textarea").some(area => area.value === text)) faults.push(`${text} cannot be copied`);
  }
  await until(() => saved.length >= due);
  if (saved.length !== due) faults.push(`${saved.length} of ${due} files were saved`);
  for (const { name, size } of saved) {
    if (!/^[\w=@-][\w.=@-]*\.(csv|json|png|svg|toml|txt)$/.test(name) || size < 20) faults.push(`${size} bytes as ${name}`);
  }

  // The saved table is the one that is shown, however it was chosen and whoever is hidden.
  const save = all("button").find(button => button.textContent === "save as CSV");
  const savedAsShown = async what => {
    csv = "";
    save.click();
    const [, ...lines] = csv.trim().split("\n").map(line => line.slice(1, -1).split('","'));
    const heads = texts("#matrix-table thead .name");
    const shown = table().flatMap(([test, ...cells]) => cells.map((cell, index) => [test, heads[index].replaceAll('"', '""'), Number(cell)]));
    const others = shown.filter(([test, name, number], at) => {
      const line = lines[at] ?? [];
      const is = line[0] === test && line[2] === name;
      const value = line[7] === "" ? NaN : Number(line[7]);
      return !is || Number.isNaN(number) !== Number.isNaN(value) || Math.abs(value - number) > 0.5 && Math.abs(value / number - 1) > 0.006;
    });
    if (lines.length !== shown.length || others.length > 0) faults.push(`saved of ${what}: ${lines.length} lines for ${shown.length} cells, not ${others[0]}`);
    return csv;
  };
  if (choose) {
    seen.csv = await savedAsShown("the first view");
    const view = choose.elements.view;
    for (const { value } of view.options) {
      await set(view, value);
      await savedAsShown(`view ${value}`);
    }
    const hide = all("[data-contender]").at(-1);
    hide?.click();
    await pause();
    await savedAsShown("a view without the last contender");
    hide?.click();
    await set(view, judged.view);
  }

  const nonsense = document.body.innerText.match(/.{0,40}\b(NaN|undefined|Infinity)\b.{0,20}/);
  if (nonsense) faults.push(`it says ${nonsense[0]}`);
  seen.saved = saved.map(file => file.name);
  seen.canvases = all("canvas").length;
  seen.histories = all(".history svg").length;
  seen.ribbons = all(".history .ribbon").length;
  seen.changes = texts(".history .change");
  seen.lanes = texts(".lane > span");
  seen.titles = texts("main figure h4");
  seen.dots = all("svg.dots circle").length;
  leave();
});
