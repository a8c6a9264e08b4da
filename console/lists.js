// A list of the API as a page: filters and cursor in the address, the newest first where the API can. Links, and charts.

import { useMemo } from "./hooks.js";
import { amount, attempt, Field, go, hrefOf, html, instantOf, Shown, usePoll } from "./parts.js";

const LIMIT = 50;
const EVERY_MS = 5_000;

export function List({ title, page, query, filters, children, ...rows }) {
  const wanted = Object.fromEntries(filters.map(({ name }) => [name, query[name]]).filter(([, value]) => value));
  const metadata = Object.entries(query).filter(([name]) => name.startsWith("metadata."));
  const asked = { ...rows.always, ...instants(wanted), ...Object.fromEntries(metadata) };
  // The same element is not drawn again when the list changes, so nothing that is being typed is lost.
  const form = useMemo(() => html`<${Filters} ...${{ page, filters, query }} />`, [page, JSON.stringify(query)]);
  return html`
    <h1 tabindex="-1">${title}</h1>
    ${children}
    ${form}
    <${Rows} ...${{ ...rows, caption: title, page, query, always: asked }} />`;
}

// The rows of one page of a list, asked for again while it is the first page, and the way to the other pages.
export function Rows({ caption, page, id, query, path, things, columns, of, empty, always = {}, limit = LIMIT }) {
  const found = usePoll(path, { query: { limit, ...always, cursor: query.cursor }, every: query.cursor ? 0 : EVERY_MS });
  return html`<${Shown} found=${found}>${(body) => html`
    <${Table} ...${{ caption, columns, of }} rows=${body[things]} />
    ${body[things].length === 0 && html`<p class="empty" role="status">${body.next_cursor ? "Nothing on this page yet: there is more to look through." : empty}</p>`}
    <${Pager} ...${{ page, id, query, body }} />`}</${Shown}>`;
}

// Fields of an address that are instants are typed without an offset and are UTC.
const instants = (given) => Object.fromEntries(Object.entries(given).map(([name, value]) =>
  [name, ["from", "until", "since"].includes(name) ? attempt(() => instantOf(value)) || value : value]));

function Filters({ page, filters, query }) {
  const any = filters.some(({ name }) => query[name]);
  if (!filters.length) return null;
  const submit = (event) => {
    event.preventDefault();
    go(page, "", { ...query, ...Object.fromEntries(new FormData(event.currentTarget)), cursor: "" });
  };
  const chosen = (event) => event.target.tagName === "SELECT" && event.currentTarget.requestSubmit();
  return html`<form class="filters" role="search" aria-label="Filters" onSubmit=${submit} onChange=${chosen}>
    ${filters.map((filter) => html`<${Field} key=${filter.name} ...${filter} value=${query[filter.name] || ""} set=${() => {}} />`)}
    <button>Filter</button>
    ${any && html`<a class="button" href=${hrefOf(page)}>Clear</a>`}
  </form>`;
}

export function Table({ caption, rows, columns, of }) {
  return html`<table><caption class="unseen">${caption}</caption>
    <thead><tr>${columns.map(([name, , kind = ""]) => html`<th scope="col" class=${kind}>${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${of(row)} data-row>${columns.map(([, cell, kind = ""]) => html`<td class=${kind}>${cell(row)}</td>`)}</tr>`)}</tbody>
  </table>`;
}

function Pager({ page, id, query, body }) {
  if (!query.cursor && !body.next_cursor && !body.partial) return null;
  return html`<nav class="pager" aria-label="Pages">
    ${query.cursor && html`<a class="button" href=${hrefOf(page, id, { ...query, cursor: "" })}>First page</a>`}
    ${body.next_cursor && html`<a class="button" rel="next" href=${hrefOf(page, id, { ...query, cursor: body.next_cursor })}>Next page</a>`}
    ${body.partial && html`<span class="quiet">The search ended early: go on with the next page.</span>`}
  </nav>`;
}

export const money = (name) => (row) => amount(row[name]);

export const link = (page, id, text = id) => (id ? html`<a href=${hrefOf(page, id)}>${text}</a>` : "–");
const KINDS = { pay: "payments", task: "tasks", run: "runs", op: "operations", evt: "events", sub: "subscriptions" };
export const pageOf = (id) => KINDS[id.split("_")[0]] || "accounts";
export const linkOf = (id) => link(pageOf(id), id);
export const late = (row) => (row.lateness_ms === null ? "–" : `${row.lateness_ms} ms`);
export const addressOf = ({ url, queue_url, topic_arn, bus }) => url || queue_url || topic_arn || bus || "";

// Charts as SVG. Each has a name, and a table beside it has the exact figures: positions alone may be rounded.
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
