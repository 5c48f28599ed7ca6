// Copying commands and findings.

async function copy(button) {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "copied";
  } catch {
    // If the page may not write to the clipboard, the reader can.
    const area = button.parentElement.appendChild(document.createElement("textarea"));
    area.value = button.dataset.copy;
    area.select();
    button.textContent = "press Ctrl-C";
    area.addEventListener("blur", () => area.remove());
  }
  setTimeout(() => { button.textContent = said; }, 2000);
}

for (const button of document.querySelectorAll("button[data-copy]")) button.addEventListener("click", () => copy(button));
