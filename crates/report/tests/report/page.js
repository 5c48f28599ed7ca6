// Appended to a copy of a report by the tests: uses the page as a reader would, and leaves what it saw
// in an element of its own.
addEventListener("load", async () => {
  const pause = () => new Promise(done => setTimeout(done, 60));
  const faults = [];
  const texts = selector => [...document.querySelectorAll(selector)].map(found => found.textContent);
  const table = () => [...document.querySelectorAll("#matrix-table tbody tr:not(.group)")]
    .map(row => [...row.cells].map(cell => (cell.querySelector("a, b") ?? cell).textContent));
  await new Promise(done => setTimeout(done, 700));
  const root = document.documentElement;
  const seen = {
    back: getComputedStyle(document.body).backgroundColor, overflows: root.scrollWidth > root.clientWidth,
    hash: location.hash, shown: table(), heads: texts("#matrix-table thead .name"),
    tables: {},
  };
  for (const part of document.querySelectorAll("main h3, main h4")) {
    const found = part.nextElementSibling?.querySelector?.("table");
    if (!found) continue;
    const rows = [...found.rows].map(row => [...row.cells].map(cell => cell.textContent));
    (seen.tables[part.closest("section, details").id + " " + part.textContent] = rows);
  }

  const leave = () => {
    const left = document.createElement("script");
    left.type = "application/json";
    left.id = "seen";
    left.textContent = JSON.stringify({ ...seen, faults: faults.slice(0, 9) }).replaceAll("<", "\\u003c");
    document.body.append(left);
  };
  // Of a view that was chosen by its address, only what it shows is looked at.
  if (location.hash.includes("&")) return leave();

  for (const link of document.querySelectorAll('a[href^="#"]')) {
    const id = decodeURIComponent(link.getAttribute("href").slice(1));
    if (!document.getElementById(id)) faults.push(`no place ${id}`);
  }
  const ids = texts("[id]").length;
  if (new Set([...document.querySelectorAll("[id]")].map(part => part.id)).size !== ids) faults.push("an id twice");

  for (const folded of document.querySelectorAll("details")) {
    folded.open = true;
    await pause();
    for (const figure of folded.querySelectorAll("figure.rounds")) {
      if (!figure.querySelector("svg, p")) faults.push(`nothing drawn in ${folded.id}`);
    }
  }
  const choose = document.getElementById("choose");
  seen.views = {};
  for (const field of choose ? [...choose.elements].filter(field => field.name) : []) {
    const before = field.value;
    for (const option of [...field.options].reverse()) {
      field.value = option.value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      await pause();
      const rows = table();
      if (rows.length === 0) faults.push(`no rows with ${field.name} ${option.value}`);
      if (rows.flat().some(text => /NaN|undefined|Infinity/.test(text))) faults.push(`nonsense with ${field.name} ${option.value}`);
      seen.views[`${field.name} ${option.value}`] = rows;
      const isFirst = option.value === before;
      if (!isFirst && !location.hash.includes(`${field.name}=${option.value}`)) faults.push(`${location.hash} lacks ${field.name}`);
    }
    field.value = before;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  for (const button of [...document.querySelectorAll("[data-contender]")].slice(0, 4)) {
    const columns = () => document.querySelectorAll("#matrix-table thead th").length;
    const before = columns();
    button.click();
    await pause();
    if (columns() !== before - 1) faults.push(`${button.textContent} stays in the table`);
    if (button.getAttribute("aria-pressed") !== "false") faults.push(`${button.textContent} is said to be shown`);
    const name = button.textContent.trim();
    for (const part of document.querySelectorAll("[data-of]")) {
      if (part.hidden !== (part.dataset.of === name)) faults.push(`${part.dataset.of} while ${name} is hidden`);
    }
    button.click();
    await pause();
    if (columns() !== before) faults.push(`${button.textContent} does not come back`);
  }
  const saved = [];
  HTMLAnchorElement.prototype.click = function () { saved.push(this.download); };
  for (const button of document.querySelectorAll("main button:not([data-contender])")) {
    if (button.isConnected) button.click();
    await pause();
  }
  for (const key of "jkxebvmxebv") {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await pause();
  }
  await new Promise(done => setTimeout(done, 500));
  seen.saved = saved;
  seen.canvases = document.querySelectorAll("canvas").length;
  seen.histories = document.querySelectorAll(".history svg").length;
  seen.ribbons = document.querySelectorAll(".history .ribbon").length;
  seen.lanes = texts(".lane > span");
  seen.titles = texts("main figure h4");
  seen.dots = document.querySelectorAll("svg.dots circle").length;
  leave();
});
