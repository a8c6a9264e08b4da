// Pieces that every page uses: amounts, instants, states, actions, lists, and charts.

import { h } from "./preact.js";
import { useEffect, useMemo, useRef, useState } from "./hooks.js";
import htm from "./htm.js";
import { attempt, curl, go, hrefOf, send, textOf, under, usePoll } from "./api.js";

export const html = htm.bind(h);
const LIMIT = 50;
const EVERY_MS = 5_000;

export const amount = (units) => (units === null || units === undefined ? "–" : BigInt(units).toLocaleString("en-US"));
const pad = (text) => text.replace("T", " ").replace(/\.\d+Z?$|Z$/, "");

// An instant that is typed has no offset, and is UTC.
export const instantOf = (text) => new Date(`${text}Z`).toISOString();

export function Instant({ at, precise = false }) {
  if (!at) return "–";
  return html`<time datetime=${at} title=${`${at} (${ago(at)})`}>${precise ? at.replace("T", " ").replace("Z", "") : pad(at)}</time>`;
}

export const instant = (at) => html`<${Instant} at=${at} />`;
export const exact = (at) => html`<${Instant} at=${at} precise />`;

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "always" });

export function ago(at, now = Date.now()) {
  const seconds = Math.round((Date.parse(at) - now) / 1000);
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) || UNITS[3];
  return RELATIVE.format(Math.trunc(seconds / size), unit);
}

const TONES = {
  COMPLETED: "good", SUCCEEDED: "good", SUCCESS: "good", ACTIVE: "good", DONE: "good", OPEN: "good",
  FAILED: "bad", DEAD: "bad", ABORTED: "bad", EXPIRED: "bad", MISSED: "bad",
  EXECUTING: "busy", RUNNING: "busy", RETRYING: "busy", IN_PROGRESS: "busy",
  PAUSED: "held", FROZEN: "held", STOPPED: "held", SKIPPED: "held",
};
const MARKS = { good: "✓", bad: "✕", busy: "▸", held: "‖", quiet: "○" };

// The mark and the word tell the state; the colour only repeats it.
export function State({ of, tone = TONES[of] || "quiet" }) {
  return html`<span class="state ${tone}"><span aria-hidden="true">${MARKS[tone]}</span> ${of}</span>`;
}

export function Trouble({ problem, again }) {
  const forbidden = problem.status === 403;
  return html`<div class="trouble" role="alert">
    <strong>${forbidden ? "This key may not see this." : problem.status === 404 ? "There is nothing here." : "The request failed."}</strong>
    <p>${problem.message}</p>
    ${problem.errors.length > 0 && html`<ul>${problem.errors.map((each) => html`<li><code>${each.field}</code> ${each.message}</li>`)}</ul>`}
    ${problem.requestId && html`<p class="quiet">Request <code>${problem.requestId}</code></p>`}
    ${again && !forbidden && html`<button onClick=${again}>Ask again</button>`}
  </div>`;
}

export const Loading = () => html`<p class="quiet" role="status">Loading …</p>`;

// `children` is called with the body once there is one. Trouble is shown above what was known before.
export function Shown({ found, children }) {
  return html`
    ${found.problem && html`<${Trouble} problem=${found.problem} again=${found.again} />`}
    ${found.body ? children(found.body) : !found.problem && html`<${Loading} />`}`;
}

export function Facts({ of }) {
  return html`<dl class="facts">${of.filter(Boolean).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value ?? "–"}</dd></div>`)}</dl>`;
}

const FINAL = ["COMPLETED", "FAILED", "SUCCEEDED", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED", "DONE", "ABORTED"];

// The page of one item, asked for until it is in a final state. `lead` and `children` are called with the item, its path,
// and what asks for it again. A page with `told` links to the events about the item.
export function Item({ title, page, id, caller, told = true, path = under(page, id), lead, children, every = 1_000, whole }) {
  const found = usePoll(path, { every, whole, until: ({ status, state }) => FINAL.includes(status || state) });
  return html`<h1 tabindex="-1">${title}</h1><p><code>${id}</code> ${told && !lacks(caller, "events:read", "listEvents")
    && html`<a href=${hrefOf("events", "", { subject_id: id })}>Events</a>`}</p>
  <${Shown} found=${found}>${(body) => html`<p role="status" class="lead">${lead(body)}</p>${children(body, path, found.again)}
    <details><summary>Raw answer</summary><pre tabindex="0">${textOf(body, 2)}</pre></details>`}</${Shown}>`;
}

export const Actions = ({ children }) => html`<p class="buttons" role="group" aria-label="Actions">${children}</p>`;

// Why the key may not ask for the operation; nothing if it may. The API refuses it in any case.
export const lacks = (caller, scope, op) => (!caller.scopes.includes(scope) ? `This key lacks the scope ${scope}.`
  : caller.actions && !caller.actions.includes(op) ? `This key may not ask for ${op}.` : "");

const bound = (caller, account) =>
  (account && caller.account_ids && !caller.account_ids.includes(account) ? `This key is not for the account ${account}.` : "");

// The same for an operation that writes, and for the account that it is about.
export const refused = (caller, scope, op, account) =>
  (caller.read_only ? "This key only reads." : lacks(caller, scope, op)) || bound(caller, account);

// The same for the account and the amount of a request.
function beyond(caller, scope, { from_account_id: from, account_id: account = from, amount: sum } = {}) {
  const most = Math.min(caller.amount_max ?? Infinity, caller.amount_per_day_max ?? Infinity);
  return scope === "payments:write" && sum?.rawJSON > most ? `This key pays at most ${amount(most)}.` : bound(caller, account);
}

// A button that asks first. `request` makes the request of the fields' values: a POST unless it names another method.
export function Action({ label, scope, op, account, caller, allowed = true, danger = false, refusal = "This state does not allow it.", fields = [], path, request = () => ({ path }), ...rest }) {
  const [open, setOpen] = useState(false);
  const why = refused(caller, scope, op, account) || (allowed ? "" : refusal);
  return html`
    <button class=${danger ? "danger" : ""} disabled=${why} title=${why} onClick=${() => setOpen(true)}>${label}</button>
    ${open && html`<${Asked} ...${{ label, caller, scope, danger, fields, request, ...rest }} close=${() => setOpen(false)} />`}`;
}

function Asked({ label, danger, text, done, close, shows, ...given }) {
  const dialog = useRef();
  const before = useRef(document.activeElement);
  const form = useForm({ ...given, done: (body) => { close(); done?.(body); } });
  useEffect(() => {
    dialog.current.showModal();
    return () => before.current?.focus?.();
  }, []);
  return html`<dialog ref=${dialog} aria-labelledby="asked" onClose=${close}>
    <form onSubmit=${form.submit}>
      <h2 id="asked">${label}</h2>
      ${text && html`<p>${text}</p>`}
      ${form.inputs}
      ${shows?.(form.values)}
      ${form.command}
      <p class="buttons">
        <button type="button" onClick=${close}>Close</button>
        <button type="submit" class=${danger ? "danger" : "main"} disabled=${form.why || form.busy} title=${form.why}>${form.busy ? "Sending …" : label}</button>
      </p>
    </form>
  </dialog>`;
}

// The inputs of a request, the command that does the same, and why the key may not send it. With `anew`, another body is
// another request with a key of its own, and the same body keeps its key. What `request` knows, such as the version, is as
// old as the values that the form began with.
export function useForm({ caller, scope, fields, request, done, anew }) {
  const [opened] = useState(() => request);
  const [values, setValues] = useState(() => Object.fromEntries(fields.map((field) => [field.name, field.value || ""])));
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [keys] = useState({});
  // The body whose answer was lost, and which may have done its work.
  const [lost, setLost] = useState();
  const text = attempt(() => textOf(opened(values).body));
  const idempotencyKey = (keys[anew && text] ??= crypto.randomUUID());
  const made = () => ({ method: "POST", ...opened(values, idempotencyKey) });
  const asked = attempt(made);
  const set = (name) => (value) => setValues((known) => ({ ...known, [name]: value }));
  async function submit(event) {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const { method, path, ...given } = made();
      done((await send(method, path, given)).body);
    } catch (error) {
      setProblem(error.errors ? error : { message: error.message, errors: [] });
      if (asked && !(error.status && error.status < 500)) setLost(lost ?? text);
    } finally {
      setBusy(false);
    }
  }
  return {
    values, busy, submit, asked,
    why: beyond(caller, scope, asked?.body),
    inputs: html`${fields.map((field) => html`<${Field} ...${field} value=${values[field.name]} set=${set(field.name)} />`)}
      ${problem && html`<${Trouble} problem=${problem} />`}
      ${lost && lost !== text && html`<p class="trouble" role="status">The first request may have been carried out.</p>`}`,
    command: asked && html`<${Command} text=${curl(asked.method, asked.path, asked)} />`,
  };
}

export const DIGITS = { inputmode: "numeric", pattern: "[1-9][0-9]*" };
export const instantField = (name, label) => ({ name, label: `${label} (UTC)`, type: "datetime-local", step: 1 });
export const instantAsked = (name, label, at = "") => ({ ...instantField(name, label), required: true, value: at.slice(0, 19) });

export function Field({ name, label, value, set, hint, options, type = "text", required = false, rows, ...rest }) {
  const id = `field-${name}`;
  const given = { id, name, value, required, "aria-describedby": hint ? `${id}-hint` : undefined, ...rest,
    onInput: (event) => set(event.target.value) };
  return html`<div class="field"><label for=${id}>${label}</label>
    ${options ? html`<select ...${given}>${options.map((each) => html`<option value=${each} selected=${each === value}>${each || "any"}</option>`)}</select>`
      : rows ? html`<textarea ...${given} rows=${rows} spellcheck="false"></textarea>`
      : html`<input ...${given} type=${type} autocomplete="off" />`}
    ${hint && html`<span class="quiet" id="${id}-hint">${hint}</span>`}</div>`;
}

export function Command({ text, what = "a command" }) {
  const [copied, setCopied] = useState(false);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true), () => {});
  return html`<figure class="command"><figcaption>The same as ${what} <button type="button" class="small" onClick=${copy}>${copied ? "Copied" : "Copy"}</button></figcaption>
    <pre tabindex="0">${text}</pre></figure>`;
}

// A list of the API as a page: filters and cursor in the address, the newest first where the API can.
export function List({ title, page, query, filters = [], children, ...rows }) {
  const wanted = Object.fromEntries(filters.map(({ name }) => [name, query[name]]).filter(([, value]) => value));
  const asked = { ...rows.always, ...parameters(wanted) };
  // The same element is not drawn again when the list changes, so nothing that is being typed is lost.
  const form = useMemo(() => html`<${Filters} ...${{ page, filters, query }} />`, [page, JSON.stringify(query)]);
  return html`
    <h1 tabindex="-1">${title}</h1>
    ${children}
    ${form}
    <${Rows} path=${page} things=${page.replace("-", "_")} ...${{ ...rows, id: "", caption: title, page, query, always: asked }} />`;
}

// The rows of one page of a list, asked for again while it is the first page, and the way to the other pages.
export function Rows({ caption, page, id, query, path, things, columns, of, empty, always = {}, limit = LIMIT }) {
  const found = usePoll(path, { query: { limit, ...always, cursor: query.cursor }, every: query.cursor ? 0 : EVERY_MS });
  return html`<${Shown} found=${found}>${(body) => html`
    <${Table} ...${{ caption, columns, of }} rows=${body[things]} />
    ${body[things].length === 0 && html`<p class="empty" role="status">${body.next_cursor ? "Nothing on this page yet: there is more to look through." : empty}</p>`}
    <${Pager} ...${{ page, id, query, body }} />`}</${Shown}>`;
}

// Instants of an address are typed without an offset and are UTC. Metadata is typed as <key>=<value>.
const parameters = (given) => Object.fromEntries(Object.entries(given).map(([name, value]) => {
  const [, key, text] = (name === "metadata" && value.match(/(.+?)=(.*)/)) || [];
  return key ? [`metadata.${key}`, text] : [name, ["from", "until", "since"].includes(name) ? attempt(() => instantOf(value)) || value : value];
}));

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

// A cell and the key of a row are the name of a field, or a function of the row.
const read = (row, of) => (typeof of === "string" ? row[of] || "–" : of(row));

// Columns are a title, a cell, and a class.
export function Table({ caption, rows, columns, of }) {
  return html`<table><caption class="unseen">${caption}</caption>
    <thead><tr>${columns.map(([name, , kind = ""]) => html`<th scope="col" class=${kind}>${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${read(row, of)} data-row>${columns.map(([, cell, kind = ""]) => html`<td class=${kind}>${read(row, cell)}</td>`)}</tr>`)}</tbody>
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

export const numberColumn = (title, name, kind = "") => [title, (row) => amount(row[name]), `number ${kind}`];
export const instantColumn = (title, name, kind, precise) => [title, (row) => html`<${Instant} at=${row[name]} precise=${precise} />`, kind];
// Attempts tell when they began, and the item for when it was planned.
export const lateColumn = (planned) => ["Late", (row) => `${Date.parse(row.started_at) - Date.parse(planned)} ms`, "number"];
export const STATUS = ["Status", (row) => html`<${State} of=${row.status} />`];

export const link = (page, id, text = id, query) => (id ? html`<a href=${hrefOf(page, id, query)}>${text}</a>` : "–");
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
