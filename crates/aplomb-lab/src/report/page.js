"use strict";
// Comfort only: everything on the page can be read without this script. It shows a second's figures below the pictures when it is pointed
// at, in all pictures at once, and lights up the waits of a stack.

for (const section of document.querySelectorAll(".over-time")) {
  const told = new Map();
  for (const column of section.querySelectorAll(".hits g")) {
    const title = column.querySelector("title");
    told.set(column, title.textContent);
    column.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  const show = (second) => {
    for (const readout of section.querySelectorAll(".readout")) readout.textContent = "";
    for (const [column, text] of told) {
      const on = column.dataset.second === second;
      column.classList.toggle("on", on);
      if (on) column.closest("figure").querySelector(".readout").textContent = text;
    }
  };
  const point = (event) => {
    const column = event.target.closest(".hits g");
    if (column) show(column.dataset.second);
  };
  section.addEventListener("pointerover", point);
  section.addEventListener("pointerdown", point);
  section.addEventListener("pointerleave", () => show(undefined));
}

for (const waits of document.querySelectorAll(".waits")) {
  const timeline = waits.querySelector(".timeline");
  const pick = (stack) => {
    timeline.classList.toggle("picked", stack !== undefined);
    for (const each of waits.querySelectorAll("[data-stack]")) {
      each.classList.toggle("on", each.dataset.stack === stack);
    }
  };
  for (const each of waits.querySelectorAll("[data-stack]")) {
    each.addEventListener("pointerenter", () => pick(each.dataset.stack));
    each.addEventListener("pointerleave", () => pick(undefined));
  }
  for (const mark of waits.querySelectorAll("a[data-stack]")) {
    mark.addEventListener("click", (event) => {
      event.preventDefault();
      const details = waits.querySelector(`details[data-stack="${mark.dataset.stack}"]`);
      details.open = true;
      details.scrollIntoView({ block: "nearest", behavior: "smooth" });
      pick(mark.dataset.stack);
    });
  }
}
