/* Draws the charts of a page: each <figure data-chart> holds a Vega-Lite specification as JSON.

   Colours are the page's own custom properties, so a change of theme needs no new drawing. The
   expressions of Vega are interpreted, not compiled, so no policy has to allow evaluation. */
"use strict";

(() => {
  const OPTIONS = {
    mode: "vega-lite",
    ast: true,
    actions: false,
    defaultStyle: false,
    renderer: "svg",
    logLevel: vega.Error, // Vega-Lite warns of every chart as wide as its place
    tooltip: { disableDefaultStyle: true, theme: "heedful" },
  };

  function draw(figure) {
    const place = figure.querySelector(".drawing");
    const spec = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    figure.dataset.drawn = ""; // shown first: the drawing is as wide as its place
    return vegaEmbed(place, spec, OPTIONS).then(() => {
      const drawing = place.querySelector("svg");
      drawing.setAttribute("role", "img");
      drawing.setAttribute("aria-label", figure.dataset.chart);
      unname(drawing);
      const changes = { subtree: true, childList: true, attributeFilter: ["role"] };
      new MutationObserver(() => unname(drawing)).observe(drawing, changes);
    });
  }

  /** Take the role from groups of marks, again whenever Vega draws: without a name they would be
      images of nothing to a screen reader. The marks themselves keep theirs. */
  function unname(drawing) {
    for (const group of drawing.querySelectorAll("[role='graphics-symbol']:not([aria-label])")) {
      group.removeAttribute("role");
    }
  }

  /** Draw the charts below an element that are not drawn yet. */
  function drawAll(root) {
    return Promise.all([...root.querySelectorAll("figure[data-chart]:not([data-drawn])")].map(draw));
  }

  drawAll(document);
  document.addEventListener("htmx:load", (event) => drawAll(event.target));
})();
