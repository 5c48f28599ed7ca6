// The reader's choices. They are in the address, so a view can be shared: the place in the page,
// then choices that differ from the first state, such as #test-scan&base=1&hide=2&zoom=scan:10-25.

/** The state before any choice. */
const nothing = () => ({
  place: "", base: null, measure: 0, view: "relative", sort: "plan", x: "time",
  hide: new Set(), open: new Set(),
  // By step or test: the operation of its charts, and their range.
  operation: new Map(), zoom: new Map(),
});
const state = nothing();
const first = nothing();

const listeners = [];
/** Calls back after each change with the names of the changed choices. */
function onChange(listener) {
  listeners.push(listener);
}

function change(values) {
  // A range of one axis has no meaning on another.
  if ("x" in values && values.x !== state.x) values = { zoom: new Map(), ...values };
  Object.assign(state, values);
  writeAddress();
  for (const listener of listeners) listener(Object.keys(values));
}

function writeAddress() {
  const parts = [encodeURIComponent(state.place)];
  for (const name of ["base", "measure", "view", "sort", "x"]) {
    if (state[name] !== first[name]) parts.push(name + "=" + state[name]);
  }
  if (state.hide.size > 0) parts.push("hide=" + [...state.hide].sort((a, b) => a - b).join("."));
  if (state.open.size > 0) parts.push("open=" + [...state.open].map(encodeURIComponent).join("&open="));
  for (const [step, name] of state.operation) parts.push(`operation=${encodeURIComponent(step)}:${name}`);
  for (const [step, [from, to]] of state.zoom) parts.push(`zoom=${encodeURIComponent(step)}:${from}-${to}`);
  const hash = parts.join("&");
  if (hash !== location.hash.slice(1)) history.replaceState(null, "", "#" + hash);
}

/** Text that cannot be decoded does not come from this page. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function readAddress() {
  const [place, ...parts] = location.hash.slice(1).split("&");
  const found = { place: decoded(place) };
  for (const part of parts) {
    const at = part.indexOf("=");
    const [name, value] = [part.slice(0, at), decoded(part.slice(at + 1))];
    if (name === "open") (found.open ??= new Set()).add(value);
    else if (name === "hide") found.hide = new Set(value.split(".").map(Number).filter(Number.isInteger));
    else if (name === "base" || name === "measure") found[name] = Number.parseInt(value, 10) || 0;
    else if (name === "view" || name === "sort" || name === "x") found[name] = value;
    else if (name === "operation" || name === "zoom") {
      const end = value.lastIndexOf(":");
      const chosen = value.slice(end + 1);
      (found[name] ??= new Map()).set(value.slice(0, end), name === "zoom" ? chosen.split("-").map(Number) : chosen);
    }
  }
  return found;
}

/** The text of a script element: base64 of zlib. */
async function unpacked(id) {
  const packed = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(packed, character => character.charCodeAt(0));
  return new Response(new Response(bytes).body.pipeThrough(new DecompressionStream("deflate"))).text();
}

/** The same as data, read once. */
const read = {};
function parsed(id) {
  return read[id] ??= unpacked(id).then(JSON.parse);
}

function element(parent, name, text, className) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  parent.append(made);
  return made;
}

function drawn(parent, name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function format(value) {
  if (value == null) return "-";
  if (value === 0 || Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

function percent(log) {
  const value = 100 * Math.expm1(log);
  return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(Math.abs(value) < 10 ? 1 : 0) + " %";
}

// After Okabe and Ito, without the colours that vanish on white or on black. The ninth contender
// has the first colour again, with a dashed line.
const COLOURS = ["#1f86cc", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8c8c8c", "#a89600"];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/** Names of all contenders in their order; set when the data are read. */
let contenders = [];

function place(contender) {
  return Math.max(0, contenders.indexOf(contender));
}
function colour(index) {
  return COLOURS[index % COLOURS.length];
}
function dash(index) {
  return DASHES[Math.floor(index / COLOURS.length) % DASHES.length];
}
