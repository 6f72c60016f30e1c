// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Style sheet and keyboard script of a page. Shades of heat differ in lightness only, so that they
// are distinct without colors; in a dark color scheme a larger value is lighter. Text has a
// contrast of at least 4.5 to its background. Neither string has a character that XML would read as
// markup.
#include "html/parts.hpp"

namespace pmukit::html {

const std::string_view kStyle = R"css(:root {
  --paper: #ffffff; --plate: #f4f5f7; --ink: #16191d; --quiet: #545c68; --rule: #cfd4db;
  --link: #0b57b0; --focus: #0b57b0; --bar: #bcd3f2; --line: #2a6fc0; --area: #d5e4f8;
  --source-ink: #6b3d00; --source: #ffe9c7; --whole-ink: #14532d; --whole: #d9f2e0; --lost-ink: #8a1212; --lost: #fddede;
  --h1: #fdebc8; --h2: #fbd79a; --h3: #f7bb69; --h4: #ef9a3c; --h5: #dd7516; --h6: #bb5406; --h7: #8f3a04; --h8: #5e2303;
  --f0: #e2e5ea; --f1: #f9dcae; --f2: #fbc9a4; --f3: #c4dcf5; --f4: #d8d0f2; --f5: #c9e7cf;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --plate: #1d2126; --ink: #eceff3; --quiet: #a7b0bc; --rule: #3b424c;
    --link: #8ab8f5; --focus: #9cc6ff; --bar: #27476e; --line: #7db1f2; --area: #213a59;
    --source-ink: #ffd58f; --source: #47310c; --whole-ink: #a5e3b8; --whole: #163a22; --lost-ink: #ffb3b3; --lost: #521a1a;
    --h1: #33210f; --h2: #502f10; --h3: #734111; --h4: #9c5712; --h5: #c87218; --h6: #ea9436; --h7: #fbbb6c; --h8: #fee3b8;
    --f0: #343a43; --f1: #5f4413; --f2: #6a3a1a; --f3: #24466b; --f4: #43376b; --f5: #23502f;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem clamp(.75rem, 3vw, 2rem) 3rem; max-width: 76rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 0; }
p { margin: .35rem 0; max-width: 46rem; overflow-wrap: anywhere; }
code { font: .86em ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace; overflow-wrap: anywhere; }
a { color: var(--link); }
nav ol { margin: .75rem 0 1.5rem; padding-left: 1.5rem; }
nav code, .meta code { color: var(--quiet); }
.badge { display: inline-block; border-radius: .3rem; padding: 0 .45rem; font-size: .82rem; font-weight: 600; }
.badge.source { color: var(--source-ink); background: var(--source); }
.badge.whole { color: var(--whole-ink); background: var(--whole); }
.badge.lost, .badge.elsewhere { color: var(--lost-ink); background: var(--lost); }
.losses { margin: .25rem 0 .5rem; padding-left: 1.2rem; color: var(--lost-ink); font-size: .92rem; }
figure { margin: 0 0 1.5rem; padding: 1rem clamp(.6rem, 2vw, 1.25rem); background: var(--plate);
  border: 1px solid var(--rule); border-radius: .5rem; }
figcaption p:not(.meta) { color: var(--quiet); font-size: .92rem; }
.plot { display: grid; grid-template-columns: auto minmax(0, 1fr); column-gap: .5rem; margin-top: .75rem; }
.plot svg { display: block; min-width: 0; }
.plot .wide { grid-column: 1 / -1; }
.gutter { display: grid; align-content: start; text-align: right; color: var(--quiet);
  font: 11.5px/15px ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace; white-space: nowrap; }
.gutter.ends { align-content: space-between; }
.gutter.lines { line-height: 1.35; align-items: center; }
.gutter small { font-size: 11px; }
.axis { grid-column: 2; display: flex; flex-wrap: wrap; justify-content: space-between; column-gap: 1rem; color: var(--quiet);
  font-size: .8rem; padding-top: .2rem; }
.axis span { white-space: nowrap; }
.axis span:last-child { margin-left: auto; }
.legend { grid-column: 1 / -1; color: var(--quiet); font-size: .8rem; margin: .5rem 0 0; }
.swatch { display: inline-block; width: 1.05rem; height: .75rem; vertical-align: -.05rem; border: 1px solid var(--rule); }
.readout { min-height: 1.5em; margin: .5rem 0; font-size: .9rem; font-variant-numeric: tabular-nums; max-width: none; }
svg text { font: 12.5px ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace; fill: var(--ink); }
svg text.value { text-anchor: end; }
.heat { background: var(--paper); outline: 1px solid var(--rule); }
.heat .m { shape-rendering: crispEdges; }
.h1 { fill: var(--h1); background: var(--h1); } .h2 { fill: var(--h2); background: var(--h2); }
.h3 { fill: var(--h3); background: var(--h3); } .h4 { fill: var(--h4); background: var(--h4); }
.h5 { fill: var(--h5); background: var(--h5); } .h6 { fill: var(--h6); background: var(--h6); }
.h7 { fill: var(--h7); background: var(--h7); } .h8 { fill: var(--h8); background: var(--h8); }
.back { fill: var(--paper); }
.front { fill: var(--bar); }
.column .back { fill: transparent; }
.column .front { fill: var(--line); }
.column:hover .back { fill: var(--area); }
.grid { stroke: var(--rule); stroke-width: 1; }
.area { fill: var(--area); }
.line { fill: none; stroke: var(--line); stroke-width: 2; vector-effect: non-scaling-stroke; }
.point { fill: transparent; }
.point:hover { fill: var(--line); fill-opacity: .18; }
.flame rect { stroke: var(--plate); stroke-width: 1; }
.f0 rect { fill: var(--f0); } .f1 rect { fill: var(--f1); } .f2 rect { fill: var(--f2); }
.f3 rect { fill: var(--f3); } .f4 rect { fill: var(--f4); } .f5 rect { fill: var(--f5); }
.s0 { background: var(--f0); } .s1 { background: var(--f1); } .s2 { background: var(--f2); }
.s3 { background: var(--f3); } .s4 { background: var(--f4); } .s5 { background: var(--f5); }
.m:focus { outline: none; }
.plot svg { overflow: visible; }
.plot svg svg { overflow: hidden; }
.ring { fill: none; stroke: var(--focus); stroke-width: 3; pointer-events: none; }
rect.m:focus, .bar:focus .back, .column:focus .back, .flame .m:focus rect { stroke: var(--focus); stroke-width: 3; }
.point:focus, .column:focus .back { fill: var(--line); fill-opacity: .25; }
summary { cursor: pointer; color: var(--link); font-size: .92rem; }
summary:focus-visible, a:focus-visible, .scroll:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.scroll { overflow: auto; max-height: 30rem; margin-top: .5rem; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; background: var(--paper); min-width: 100%; }
caption { text-align: left; color: var(--quiet); padding: .2rem 0; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--rule); text-align: left; white-space: nowrap; }
th { position: sticky; top: 0; background: var(--plate); }
.n { text-align: right; }
tfoot td { font-weight: 600; border-top: 2px solid var(--rule); }
footer { color: var(--quiet); font-size: .85rem; }
@media print { .readout { display: none; } figure { break-inside: avoid; } }
)css";

// Tab moves from picture to picture. An arrow key moves to the next mark in its direction, Home and
// End to the first and the last mark. The ring around a mark is drawn last, because neighboring
// marks would cover it.
const std::string_view kScript = R"js((function () {
  "use strict";
  var steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  function place(mark) {
    var box = mark.getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2, w: box.width / 2, h: box.height / 2 };
  }
  function cost(here, there, step) {
    var dx = Math.abs(there.x - here.x), dy = Math.abs(there.y - here.y);
    var along = (there.x - here.x) * step[0] + (there.y - here.y) * step[1];
    if (0.5 > along) return Infinity;
    if (step[0]) return dy > here.h ? Infinity : along;
    if (here.h > dy) return Infinity;
    return along * 10000 + Math.max(0, dx - here.w - there.w) * 10 + dx / 10000;
  }
  function next(marks, mark, step) {
    var here = place(mark), best = null, least = Infinity;
    marks.forEach(function (other) {
      var price = other === mark ? Infinity : cost(here, place(other), step);
      if (least > price) { least = price; best = other; }
    });
    return best;
  }
  document.querySelectorAll("figure").forEach(function (figure) {
    var svg = figure.querySelector("svg"), readout = figure.querySelector(".readout");
    var marks = Array.from(figure.querySelectorAll(".m"));
    var ring = document.createElementNS(svg.namespaceURI, "rect");
    function say(event) {
      var mark = event.target.closest(".m");
      if (mark) readout.textContent = mark.querySelector("title").textContent;
    }
    function surround(event) {
      var mark = event.target.closest(".m");
      if (!mark) return;
      var box = mark.getBoundingClientRect(), all = svg.getBoundingClientRect();
      ring.setAttribute("x", box.left - all.left);
      ring.setAttribute("y", box.top - all.top);
      ring.setAttribute("width", box.width);
      ring.setAttribute("height", box.height);
      svg.appendChild(ring);
    }
    if (marks.length) readout.textContent = "Point at the picture, or Tab into it and use the arrow keys.";
    ring.setAttribute("class", "ring");
    figure.addEventListener("focusin", say);
    svg.addEventListener("focusin", surround);
    svg.addEventListener("focusout", function () { ring.remove(); });
    figure.addEventListener("pointerover", say);
    svg.addEventListener("keydown", function (event) {
      var mark = event.target.closest(".m"), to = null;
      if (!mark) return;
      if (steps[event.key]) to = next(marks, mark, steps[event.key]);
      else if (event.key === "Home") to = marks[0];
      else if (event.key === "End") to = marks[marks.length - 1];
      else return;
      event.preventDefault();
      if (!to) return;
      mark.setAttribute("tabindex", "-1");
      to.setAttribute("tabindex", "0");
      to.focus();
    });
  });
}());
)js";

}  // namespace pmukit::html
