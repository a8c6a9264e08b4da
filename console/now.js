// Now: how the last hour fared, minute by minute, and what is to come.

import { useMemo, useState } from "./hooks.js";
import { ago, amount, attempt, html, Instant, Shown, State, usePoll } from "./parts.js";
import { Bars, link, Table } from "./lists.js";

const EVERY_MS = 5_000;
const NEXT = 8;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const WEEK_HOURS = 168;
const shortly = (at) => at.slice(11, 16);

export const Now = ({ caller }) => html`<h1 tabindex="-1">Now</h1>
  ${caller.scopes.includes("tasks:read") && html`<${LastHour} path="api/v1/overview" />`}
  ${caller.scopes.includes("payments:read") && html`<${ToCome} />`}
  ${caller.scopes.includes("admin") && html`<${Books} />`}
  ${caller.scopes.includes("ops") && html`<${Service} />`}`;

// An audit reads every account, so it is made when it is asked for.
function Books() {
  const [asked, setAsked] = useState(false);
  const found = usePoll(asked && "api/v1/audit", { every: 0 });
  return html`<section><h2>The books</h2><p><button onClick=${() => (asked ? found.again() : setAsked(true))}>Audit</button></p>
    ${asked && html`<${Shown} found=${found}>${({ checks }) => html`<${Table} caption="Audit" rows=${checks} of=${(row) => row.name} columns=${[
      ["Check", (row) => row.name],
      ["Result", (row) => html`<${State} of=${row.ok ? "right" : "wrong"} tone=${row.ok ? "good" : "bad"} />`],
      ["Checked", (row) => html`<${Instant} at=${row.checked_at} precise />`, "wide"],
    ]} />`}</${Shown}>`}</section>`;
}

function LastHour({ path }) {
  const found = usePoll(path, { every: EVERY_MS });
  return html`<${Shown} found=${found}>${(body) => html`
    <${Hour} title="Tasks" minutes=${body.minutes} of=${(minute) => minute.tasks} />
    ${body.minutes[0]?.payments && html`<${Hour} title="Payments" minutes=${body.minutes} of=${(minute) => minute.payments} money />`}
    <${Calendar} at=${body.at} calendar=${body.calendar} />`}</${Shown}>`;
}

// What is due, and how much money moves: in the next hour by minute, in the next week by hour.
function Calendar({ at, calendar }) {
  const sums = [["hour", calendar.next_hour], ["day", calendar.next_day], ["week", calendar.next_week]];
  const reaches = Date.parse(calendar.until) - Date.parse(at) < (WEEK_HOURS - 1) * HOUR_MS;
  return html`<section><h2>Due next</h2>
    <${Table} caption="Due next" rows=${sums} of=${([name]) => name} columns=${[
      ["In the next", ([name]) => name],
      ["Payments", ([, { payments }]) => amount(payments), "number"],
      ["Amount", ([, due]) => amount(due.amount), "number"],
      ["Tasks", ([, { tasks }]) => amount(tasks), "number"],
    ]} />
    <p class="quiet">${reaches && html`Counted until <${Instant} at=${calendar.until} />: there is more than the calendar reads. `}Runs of recurring tasks are not counted.</p>
    <${Ahead} title="The next hour by minute" start=${at} step=${MINUTE_MS} count=${60} found=${calendar.minutes} />
    <${Ahead} title="The next week by hour" start=${at} step=${HOUR_MS} count=${WEEK_HOURS} found=${calendar.hours} /></section>`;
}

function Ahead({ title, start, step, count, found }) {
  const first = Math.floor(Date.parse(start) / step);
  const due = new Map(found.map((each) => [Math.floor(Date.parse(each.at) / step), each]));
  const rows = Array.from({ length: count + 1 }, (_, place) => due.get(first + place) || { payments: 0, tasks: 0 });
  return found.length > 0 && html`<h3>${title}</h3>
    <${Bars} label="${title}: ${found.length} with something due" rows=${rows} parts=${[["main", (row) => row.payments], ["good", (row) => row.tasks]]} />
    <details><summary>As a table</summary><${Table} caption=${title} rows=${found} of=${(row) => row.at} columns=${[
      ["From", (row) => html`<${Instant} at=${row.at} />`],
      ["Payments", (row) => amount(row.payments), "number"],
      ["Amount", (row) => amount(row.amount), "number"],
      ["Tasks", (row) => amount(row.tasks), "number"],
    ]} /></details>`;
}

function Hour({ title, minutes, of, money = false }) {
  const rows = minutes.filter(({ counted }) => counted);
  const sum = (name) => rows.reduce((total, row) => total + BigInt(of(row)[name]), 0n);
  const busy = rows.filter((row) => of(row).due > 0).reverse();
  const latest = busy.find((row) => of(row).lateness_p99_ms !== null);
  return html`<section><h2>${title}, the last hour</h2>
    <dl class="tiles">
      <div><dt>Due</dt><dd>${amount(sum("due"))}</dd></div>
      <div><dt>Done</dt><dd class="good">${amount(sum("done"))}</dd></div>
      <div><dt>Failed</dt><dd class=${sum("failed") > 0n ? "bad" : ""}>${amount(sum("failed"))}</dd></div>
      <div><dt>Retried</dt><dd>${amount(sum("retried"))}</dd></div>
      ${money && html`<div><dt>Amount due</dt><dd>${amount(sum("amount"))}</dd></div>`}
      <div><dt>Late, p99 of the newest minute</dt><dd>${latest ? `${of(latest).lateness_p99_ms} ms` : "–"}</dd></div>
    </dl>
    <${Bars} label="${title} by minute: ${sum("done")} done, ${sum("failed")} failed" rows=${rows}
      parts=${[["good", (row) => of(row).done], ["bad", (row) => of(row).failed]]} />
    <details><summary>As a table</summary>${busy.length === 0 ? html`<p class="quiet">Nothing was due.</p>`
      : html`<${Table} caption="${title} by minute" rows=${busy} of=${(row) => row.minute} columns=${[
        ["Minute", (row) => html`<time datetime=${row.minute}>${shortly(row.minute)}</time>`],
        ["Due", (row) => amount(of(row).due), "number"],
        ["Done", (row) => amount(of(row).done), "number"],
        ["Failed", (row) => amount(of(row).failed), "number"],
        ["Retried", (row) => amount(of(row).retried), "number wide"],
        ["Late p50", (row) => `${of(row).lateness_p50_ms ?? "–"} ms`, "number wide"],
        ["Late p99", (row) => `${of(row).lateness_p99_ms ?? "–"} ms`, "number wide"],
        ...(money ? [["Amount due", (row) => amount(of(row).amount), "number wide"]] : []),
      ]} />`}</details></section>`;
}

function ToCome() {
  const from = useMemo(() => new Date().toISOString(), []);
  const found = usePoll("api/v1/payments", { query: { status: "PENDING", from, order: "asc", limit: NEXT }, every: EVERY_MS });
  return html`<section><h2>Payments to come</h2><${Shown} found=${found}>${({ payments }) => payments.length === 0
    ? html`<p class="quiet">None is planned.</p>`
    : html`<${Table} caption="Payments to come" rows=${payments} of=${(row) => row.payment_id} columns=${[
      ["Instant", (row) => link("payments", row.payment_id, html`<${Instant} at=${row.scheduled_time} />`)],
      ["Due", (row) => ago(row.scheduled_time)],
      ["Amount", (row) => amount(row.amount), "number"],
      ["From", (row) => link("accounts", row.from_account_id), "wide"],
      ["To", (row) => link("accounts", row.to_account_id), "wide"],
    ]} />`}</${Shown}></section>`;
}

function Service() {
  const found = usePoll("api/v1/ops/overview", { every: EVERY_MS });
  return html`<section><h2>The service, all tenants</h2><${Shown} found=${found}>${({ queues, sweep }) => html`
    <dl class="tiles">
      <div><dt>The sweep is behind by</dt><dd class=${sweep.behind_minutes ? "bad" : "good"}>${sweep.behind_minutes} min</dd></div>
      <div><dt>Swept until</dt><dd><${Instant} at=${sweep.swept_until} /></dd></div>
      <div><dt>Heartbeat</dt><dd>${attempt(() => ago(sweep.heartbeat_at)) || "–"}</dd></div>
    </dl>
    <${Table} caption="Queues" rows=${queues} of=${({ queue }) => queue} columns=${[
      ["Queue", ({ queue }) => queue],
      ["Waiting", (row) => amount(row.waiting), "number"],
      ["With a worker", (row) => amount(row.in_flight), "number"],
      ["Delayed", (row) => amount(row.delayed), "number wide"],
    ]} />`}</${Shown}></section>`;
}
