"use strict";
// Shows the runs that contain every word of the search.

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

search.addEventListener("input", filter);
filter();
