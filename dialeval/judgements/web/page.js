"use strict";
(() => {
  const root = document.documentElement, theme = document.getElementById("theme");
  const kept = (() => { try { return localStorage.getItem("theme"); } catch { return null; } })();
  if (kept) root.dataset.theme = kept;
  if (theme) {
    theme.hidden = false;
    theme.addEventListener("click", () => {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      try { localStorage.setItem("theme", root.dataset.theme); } catch { /* private mode */ }
    });
  }
  const answer = document.getElementById("answer"), undo = document.getElementById("undo");
  // Only the time during which the page was visible counts.
  let spent = 0, since = document.hidden ? null : performance.now();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && since !== null) { spent += performance.now() - since; since = null; }
    else if (!document.hidden && since === null) since = performance.now();
  });
  let sent = false;
  const once = (event) => {
    if (sent) { event.preventDefault(); return; }
    sent = true;
    const field = document.getElementById("seconds");
    if (field) field.value = ((spent + (since === null ? 0 : performance.now() - since)) / 1000).toFixed(2);
    // Disabled after the form was read, or the pressed button would not be sent.
    setTimeout(() => document.querySelectorAll("button[type=submit]").forEach((button) => { button.disabled = true; }), 0);
  };
  for (const form of [answer, undo]) if (form) form.addEventListener("submit", once);
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  if (!answer && !undo) return;
  const scales = [...document.querySelectorAll(".scale")];
  const current = () => scales.find((scale) => scale.classList.contains("current"));
  const mark = (scale) => { scales.forEach((one) => one.classList.toggle("current", one === scale)); };
  if (scales.length) {
    mark(scales[0]);
    scales.forEach((scale) => scale.addEventListener("focusin", () => mark(scale)));
  }
  const rate = (key) => {
    const scale = current(), input = scale && scale.querySelector(`input[value="${key}"]`);
    if (!input) return false;
    input.checked = true;
    const next = scales[scales.indexOf(scale) + 1];
    if (next) mark(next); else document.getElementById("next").focus();
    return true;
  };
  const arrows = { ArrowLeft: "1", ArrowRight: "2", ArrowDown: "3" };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.matches("input:not([type=radio]), textarea, select")) return;
    if (event.key === "u" || event.key === "U" || event.key === "Backspace") {
      if (undo) { event.preventDefault(); undo.requestSubmit(); }
      return;
    }
    if (scales.length) {
      if (/^[1-9]$/.test(event.key) && rate(event.key)) event.preventDefault();
      else if (event.key === "Enter" && event.target === document.body) answer.requestSubmit(document.getElementById("next"));
      else if ((event.key === "ArrowUp" || event.key === "ArrowDown") && event.target === document.body) {
        const at = scales.indexOf(current()) + (event.key === "ArrowUp" ? -1 : 1);
        if (scales[at]) { mark(scales[at]); event.preventDefault(); }
      }
      return;
    }
    const button = answer && answer.querySelector(`button[data-key="${arrows[event.key] || event.key}"]`);
    if (button) { event.preventDefault(); answer.requestSubmit(button); }
  });
})();
