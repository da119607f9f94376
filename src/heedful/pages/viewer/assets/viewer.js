/* Keys, and what belongs together.

   An element with data-key is clicked by that key, or focused where it is a field. Inside data-rows,
   j and k go from data-row to data-row. data-of names the constraint that a mark or a verdict is of.
   Nothing here is needed to read or to filter: links and forms do that by themselves. */
"use strict";

(() => {
  const FIELDS = "input:not([type=checkbox]), textarea, select";
  const shown = (element) => !element.disabled && (element.hidden || element.getClientRects().length);

  function press(key) {
    const found = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].find(shown);
    if (!found) return false;
    if (found.matches(FIELDS)) {
      found.focus();
      found.select();
    } else {
      found.click();
    }
    return true;
  }

  function step(by) {
    const rows = [...document.querySelectorAll("[data-rows] [data-row]")];
    if (!rows.length) return false;
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
    if (next) {
      const link = next.querySelector("[data-open]");
      link.focus();
      link.scrollIntoView({ block: "nearest" });
    }
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const { target, key } = event;
    if (document.querySelector("dialog[open]")) return;
    if (target.matches(FIELDS)) {
      if (key === "Escape") {
        event.preventDefault();  // or the browser empties a field of type search
        target.blur();
      }
      return;
    }
    const done = label(key) || (key === "j" && step(1)) || (key === "k" && step(-1)) || choose(key) || press(key);
    if (done) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-help]")) document.getElementById("keys").showModal();
  });

  /* Runs to compare. */
  const boxes = () => [...document.querySelectorAll("[data-pair] input[name=run]")];

  function choose(key) {
    const row = document.activeElement.closest("[data-row]");
    const box = key === "x" && row && row.querySelector("input[type=checkbox]");
    if (box) box.click();
    return Boolean(box);
  }

  /* Labels: of the constraint that is focused, or of the first without one. */
  const forms = () => [...document.querySelectorAll("form.label")];
  const isOpen = (form) => !form.querySelector("[aria-pressed=true]");

  function label(key) {
    const focused = document.activeElement.closest(".constraint");
    const form = focused ? focused.querySelector("form.label") : forms().find(isOpen);
    const button = form && (focused || key !== "?") && form.querySelector(`[data-label="${CSS.escape(key)}"]`);
    if (button && button.getAttribute("aria-pressed") !== "true") button.click();
    return Boolean(button);
  }

  /* The constraint that an address names, or after a label the next one without. */
  addEventListener("load", () => {  // the browser has focused what the address names
    const said = /^#constraint-(\d+)$/.exec(location.hash);
    if (!said || !forms().length) return;
    const here = Number(said[1]) - 1;
    const next = forms().slice(here).find(isOpen) || forms().find(isOpen) || forms()[here];
    if (next) next.closest(".constraint").focus();
  });

  function pair() {
    const button = document.querySelector("[data-pair] button");
    const chosen = boxes().filter((box) => box.checked).length;
    if (button) button.disabled = chosen < 2 || chosen > 8;
  }

  document.addEventListener("change", pair);

  /* A constraint, and what of the texts it is about. */
  function light(of) {
    for (const one of document.querySelectorAll("[data-of]")) {
      one.classList.toggle("lit", of !== undefined && one.dataset.of === of);
    }
  }

  for (const [begins, ends] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(begins, (event) => {
      const found = event.target.closest("[data-of]");
      if (found) light(found.dataset.of);
    });
    document.addEventListener(ends, () => light(undefined));
  }

  document.addEventListener("click", (event) => {
    const mark = event.target.closest("mark[data-of]");
    const constraint = mark && document.getElementById(`constraint-${mark.dataset.of}`);
    if (constraint) constraint.focus();
  });

  /* What is not asked for is not in the address. */
  document.addEventListener("htmx:configRequest", (event) => {
    if (!event.target.matches("form.filter")) return;
    const fields = event.detail.formData;
    if (fields.getAll("show").join("") === event.target.dataset.columns) fields.delete("show");
    for (const name of new Set(fields.keys())) {
      const values = fields.getAll(name).filter(Boolean);
      fields.delete(name);
      for (const value of values) fields.append(name, value);
    }
  });

  /* What refreshes by itself waits while somebody is at it. */
  document.addEventListener("htmx:beforeRequest", (event) => {
    const quiet = event.target;
    const busy = quiet.contains(document.activeElement) || quiet.querySelector(":checked");
    if (quiet.matches("[data-quiet]") && busy) event.preventDefault();
  });

  document.addEventListener("htmx:load", pair);
  document.addEventListener("DOMContentLoaded", pair);
})();
