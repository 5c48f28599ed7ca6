"use strict";
// Shows the runs that contain every word of the search, which is kept in the address.

const runs = [...document.querySelectorAll(".run")].map(run => [run, run.textContent.toLowerCase()]);
const search = document.getElementById("search");

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(word => word);
  let shown = 0;
  for (const [run, text] of runs) {
    run.hidden = !words.every(word => text.includes(word));
    if (!run.hidden) shown += 1;
  }
  document.getElementById("found").textContent = words.length > 0 ? `${shown} of ${runs.length}` : "";
}

search.addEventListener("input", () => {
  filter();
  location.replace("#" + encodeURIComponent(search.value));
});
try {
  search.value ||= decodeURIComponent(location.hash.slice(1));
} catch {
  // An address that somebody has cut has no search.
}
filter();
