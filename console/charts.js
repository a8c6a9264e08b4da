// Charts as SVG. Each has a name, and a table beside it has the exact figures: positions alone may be rounded.

import { amount, html } from "./parts.js";

const WIDTH = 600;
const HEIGHT = 120;
const rounded = (value) => Math.round(value * 10) / 10;

export function Steps({ label, start, until, points }) {
  const now = Date.now();
  const span = Math.max(Date.parse(until) - now, 1);
  const highest = Math.max(Number(start), ...points.map(({ value }) => Number(value)), 1);
  const x = (at) => rounded(Math.min(Math.max((Date.parse(at) - now) / span, 0), 1) * WIDTH);
  const y = (value) => rounded(HEIGHT - (Number(value) / highest) * (HEIGHT - 8) - 2);
  const line = [`M0 ${y(start)}`, ...points.map(({ at, value }) => `H${x(at)}V${y(value)}`), `H${WIDTH}`].join("");
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}: from ${amount(start)} to ${amount(points.at(-1)?.value ?? start)}">
    <path class="line" d=${line} /></svg>`;
}

// One bar for each value, in parts: `parts` are pairs of a class and a function of the row.
export function Bars({ label, rows, parts }) {
  const total = (row) => parts.reduce((sum, [, of]) => sum + Number(of(row)), 0);
  const highest = Math.max(...rows.map(total), 1);
  const wide = WIDTH / Math.max(rows.length, 1);
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${label}>${rows.map((row, place) => {
    let base = HEIGHT;
    return parts.map(([tone, of]) => {
      const high = (Number(of(row)) / highest) * (HEIGHT - 4);
      base -= high;
      return high > 0 && html`<rect class=${tone} x=${rounded(place * wide)} y=${rounded(base)} width=${rounded(Math.max(wide - 1, 1))} height=${rounded(high)} />`;
    });
  })}</svg>`;
}
