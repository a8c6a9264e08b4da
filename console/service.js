// The service: how the last hour fared and what is to come; its switches; its reconciliations.

import { useMemo, useState } from "./hooks.js";
import { attempt, textOf, under, usePoll } from "./api.js";
import {
  Action, Actions, ago, amount, Bars, exact, Facts, html, instant, instantColumn, Item, lacks, link, List, numberColumn, Shown,
  State, Table,
} from "./parts.js";

const EVERY_MS = 5_000;
const NEXT = 8;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const WEEK_HOURS = 168;
const shortly = (at) => at.slice(11, 16);
const sign = (is, good, bad) => html`<${State} of=${is ? good : bad} tone=${is ? "good" : "bad"} />`;
const verdict = ({ ok }) => sign(ok, "right", "wrong");
const position = ({ on }) => sign(on, "ON", "OFF");

export const Now = ({ caller }) => html`<h1 tabindex="-1">Now</h1>
  ${!lacks(caller, "tasks:read", "getOverview") && html`<${LastHour} path="overview" />`}
  ${!lacks(caller, "payments:read", "listPayments") && html`<${ToCome} />`}
  ${!lacks(caller, "admin", "audit") && html`<${Books} />`}
  ${!lacks(caller, "ops", "getServiceOverview") && html`<${Service} />`}`;

// An audit reads every account, so it is made when it is asked for.
function Books() {
  const [asked, setAsked] = useState(false);
  const found = usePoll(asked && "audit", { every: 0 });
  return html`<section><h2>The books</h2><p><button onClick=${() => (asked ? found.again() : setAsked(true))}>Audit</button></p>
    ${asked && html`<${Shown} found=${found}>${({ checks }) => html`<${Table} caption="Audit" rows=${checks} of="name" columns=${[
      ["Check", "name"],
      ["Result", verdict],
      instantColumn("Checked", "checked_at", "wide", true),
    ]} />`}</${Shown}>`}</section>`;
}

function LastHour({ path }) {
  const found = usePoll(path, { every: EVERY_MS });
  return html`<${Shown} found=${found}>${(body) => html`
    <${Hour} title="Tasks" minutes=${body.minutes} of=${(minute) => minute.tasks} />
    ${body.minutes[0]?.payments && html`<${Hour} title="Payments" minutes=${body.minutes} of=${(minute) => minute.payments} money />`}
    <${Calendar} title="Due next" at=${body.at} calendar=${body.calendar} note="Runs of recurring tasks are not counted." />`}</${Shown}>`;
}

// What is due, and how much money moves: in the next hour by minute, in the next week by hour.
function Calendar({ title, at, calendar, note }) {
  const sums = [["hour", calendar.next_hour], ["day", calendar.next_day], ["week", calendar.next_week]];
  const reaches = Date.parse(calendar.until) - Date.parse(at) < (WEEK_HOURS - 1) * HOUR_MS;
  return html`<section><h2>${title}</h2>
    <${Table} caption=${title} rows=${sums} of=${([name]) => name} columns=${[
      ["In the next", ([name]) => name],
      ["Payments", ([, { payments }]) => amount(payments), "number"],
      ["Amount", ([, due]) => amount(due.amount), "number"],
      ["Tasks", ([, { tasks }]) => amount(tasks), "number"],
    ]} />
    <p class="quiet">${reaches && html`Counted until ${instant(calendar.until)}: there is more than the calendar reads. `}${note}</p>
    <${Ahead} title="The next hour by minute" start=${at} step=${MINUTE_MS} count=${60} found=${calendar.minutes} />
    <${Ahead} title="The next week by hour" start=${at} step=${HOUR_MS} count=${WEEK_HOURS} found=${calendar.hours} /></section>`;
}

function Ahead({ title, start, step, count, found }) {
  const first = Math.floor(Date.parse(start) / step);
  const due = new Map(found.map((each) => [Math.floor(Date.parse(each.at) / step), each]));
  const rows = Array.from({ length: count + 1 }, (_, place) => due.get(first + place) || { payments: 0, tasks: 0 });
  return found.length > 0 && html`<h3>${title}</h3>
    <${Bars} label="${title}: ${found.length} with something due" rows=${rows} parts=${[["main", (row) => row.payments], ["good", (row) => row.tasks]]} />
    <details><summary>As a table</summary><${Table} caption=${title} rows=${found} of="at" columns=${[
      instantColumn("From", "at"),
      numberColumn("Payments", "payments"),
      numberColumn("Amount", "amount"),
      numberColumn("Tasks", "tasks"),
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
      : html`<${Table} caption="${title} by minute" rows=${busy} of="minute" columns=${[
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
  const found = usePoll("payments", { query: { status: "PENDING", from, order: "asc", limit: NEXT }, every: EVERY_MS });
  return html`<section><h2>Payments to come</h2><${Shown} found=${found}>${({ payments }) => payments.length === 0
    ? html`<p class="quiet">None is planned.</p>`
    : html`<${Table} caption="Payments to come" rows=${payments} of="payment_id" columns=${[
      ["Instant", (row) => link("payments", row.payment_id, instant(row.scheduled_time))],
      ["Due", (row) => ago(row.scheduled_time)],
      numberColumn("Amount", "amount"),
      ["From", (row) => link("accounts", row.from_account_id), "wide"],
      ["To", (row) => link("accounts", row.to_account_id), "wide"],
    ]} />`}</${Shown}></section>`;
}

function Service() {
  const found = usePoll("ops/overview", { every: EVERY_MS });
  return html`<section><h2>The service, all tenants</h2><${Shown} found=${found}>${({ at, alarms, calendar, dependencies, queues, sweep, switches }) => html`
    <dl class="tiles">
      <div><dt>The sweep is behind by</dt><dd class=${sweep.behind_minutes ? "bad" : "good"}>${sweep.behind_minutes} min</dd></div>
      <div><dt>Swept until</dt><dd>${instant(sweep.swept_until)}</dd></div>
      <div><dt>Heartbeat</dt><dd>${attempt(() => ago(sweep.heartbeat_at)) || "–"}</dd></div>
      <div><dt>Alarms</dt><dd class=${alarms?.length === 0 ? "good" : "bad"}>${alarms ? alarms.length : "unknown"}</dd></div>
    </dl>
    <${Found} caption="Alarms" rows=${alarms || []} of="alarm" columns=${[
      ["Alarm", "alarm"], ["Severity", "severity"], instantColumn("Since", "since"), ["Meaning", "meaning", "wide"], ["Runbook", "runbook", "wide"],
    ]} />
    <${Found} caption="Switches" rows=${switches} of="name" columns=${SWITCH_COLUMNS} />
    <${Found} caption="Failing dependencies" rows=${dependencies} of=${(row) => row.function + row.name} columns=${[
      ["Dependency", "name"], ["Function", "function"], instantColumn("Since", "since"), ["Error", "error", "wide"],
    ]} />
    <${Table} caption="Queues" rows=${queues} of="queue" columns=${[
      ["Queue", "queue"],
      numberColumn("Waiting", "waiting"),
      numberColumn("With a worker", "in_flight"),
      numberColumn("Delayed", "delayed", "wide"),
    ]} />
    <${Calendar} title="Due next, all tenants" ...${{ at, calendar }} note="Each recurring task counts once, with its next run." />`}</${Shown}></section>`;
}

// A table with its title, unless it has no rows.
const Found = ({ caption, rows, ...given }) => rows.length > 0 && html`<h2>${caption}</h2><${Table} ...${{ caption, rows, ...given }} />`;

const SWITCHES = "ops/switches";
// Always listed: a switch that nobody ever turned is on and has no row.
const FIRST = ["settlement", "api_writes"];
const REASON = { name: "reason", label: "Reason", required: true };

const SWITCH_COLUMNS = [
  ["Switch", ({ name }) => link("switches", name)],
  ["State", position],
  instantColumn("Off since", "off_at", "wide"),
  instantColumn("On again", "on_at", "wide"),
  instantColumn("Caught up", "caught_up_at", "wide"),
];

// Turns the switch of that name, or the one that the form names.
const Turn = ({ name, on, label = on ? "Turn on" : "Turn off", fields = [], ...may }) => html`<${Action} ...${may} scope="ops" op="turnSwitch" danger=${!on} label=${label}
  text="It takes effect within two seconds. What is due waits, and goes on when the switch is on." fields=${[...fields, REASON]}
  request=${(given) => ({ method: "PUT", path: under(SWITCHES, name || given.name), body: { on, reason: given.reason } })} />`;

export function Switches({ title, caller }) {
  const found = usePoll(SWITCHES);
  const may = { caller, done: found.again };
  return html`<h1 tabindex="-1">${title}</h1>
    <${Actions}><${Turn} ...${may} on=${false} label="Turn another off" fields=${[
      { name: "name", label: "Switch", hint: "tenant:<id> or target:<type>", required: true },
    ]} /></${Actions}>
    <${Shown} found=${found}>${({ switches }) => html`<${Table} caption=${title} of="name"
      rows=${[...FIRST.filter((name) => !switches.some((each) => each.name === name)).map((name) => ({ name, on: true })), ...switches]}
      columns=${[...SWITCH_COLUMNS, ["Actions", ({ name, on }) => html`<${Turn} ...${may} name=${name} on=${!on} />`]]} />`}</${Shown}>`;
}

export const Switch = (given) => html`<${Item} ...${given} title="Switch" told=${false} path=${under(SWITCHES, given.id)} lead=${position}>${(body, _, done) => html`
    <${Actions}><${Turn} caller=${given.caller} done=${done} name=${body.name} on=${!body.on} /></${Actions}>
    <${Found} caption="State" rows=${[body]} of="name" columns=${SWITCH_COLUMNS} />
    <${Found} caption="History" rows=${body.history} of="at" columns=${[instantColumn("At", "at", "", true), ["Turned", position], ["By", "by", "wide"], ["Reason", "reason"]]} />`}</${Item}>`;

const RECONCILIATIONS = "ops/reconciliations";
const NIGHTS = 20;
const open = ({ proposals }) => proposals.filter(({ outcome }) => outcome !== "done");

export const Reconciliations = (given) => html`<${List} ...${given} path=${RECONCILIATIONS} limit=${NIGHTS} of="reconciliation_id" columns=${[
  ["Ended", (row) => link("reconciliations", row.reconciliation_id, instant(row.finished_at))],
  ["Result", verdict],
  ["Findings", (row) => Object.values(row.by_check).reduce((sum, count) => sum + count, 0), "number"],
  ["To approve", (row) => open(row).length, "number"],
]} empty="No reconciliation yet." />`;

export const Reconciliation = (given) => html`<${Item} ...${given} title="Reconciliation" told=${false} path=${under(RECONCILIATIONS, given.id)} lead=${(run) => html`
  ${verdict(run)} ${Object.entries(run.by_check).map(([check, count]) => `${check}: ${count}`).join(", ")}`}>${({ proposals, findings, ...run }, path, done) => html`
    <${Facts} of=${[
      ["Began", exact(run.started_at)],
      ["Ended", exact(run.finished_at)],
      ...Object.entries(run.looked_at).map(([name, count]) => [name, amount(count)]),
      ["Not judged", run.unjudged],
      ["Events filled in", run.events_filled],
      ["Full report", run.report],
    ]} />
    <${Found} caption="Proposals" rows=${proposals} of=${(row) => row.tenant + row.subject_id} columns=${[
      ["Tenant", "tenant", "wide"],
      ["Subject", "subject_id"],
      ["Repair", "repair"],
      ["Approved by", "approved_by", "wide"],
      ["Reason", "reason", "wide"],
      ["Outcome", "outcome"],
      ["Actions", ({ tenant, subject_id: subject, repair, outcome }) => html`<${Action} caller=${given.caller} scope="ops" op="approveRepairs" label="Approve" danger done=${done}
        allowed=${outcome !== "done"} refusal="It is done." text="${repair}: ${subject} of ${tenant}." fields=${[REASON]}
        request=${({ reason }) => ({ path: `${path}/approve`, body: { reason, tenant, subject_ids: [subject] } })} />`],
    ]} />
    <${Found} caption="Findings" rows=${findings} of=${(row) => row.check + row.tenant + row.subject} columns=${[
      ["Check", "check"],
      ["Tenant", "tenant", "wide"],
      ["Subject", "subject"],
      ["Observed", (row) => textOf(row.observed)],
      ["Expected", (row) => textOf(row.expected), "wide"],
    ]} />`}</${Item}>`;
