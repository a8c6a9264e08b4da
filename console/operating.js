// Operating: dead letters by group, operations on many items, flow keys, and destinations that calls are held back from.

import { go, usePoll } from "./api.js";
import {
  Action, Actions, addressOf, ago, amount, DIGITS, exact, Facts, html, instant, instantColumn, Item, lacks, link, linkOf, List,
  numberColumn, Rows, Shown, State, Table,
} from "./parts.js";

const PATH = "operations";
const COUNTS = ["done", "failed", "sent", "changed", "waiting"];
// Answers have only some of the counts: a backfill has no more than `done`.
const counted = (operation) => COUNTS.filter((name) => operation[name]).map((name) => `${amount(operation[name])} ${name}`).join(", ") || "–";
const what = ({ action, kind = "runs" }) => `${action} ${kind}`;

const COLUMNS = [
  ["Planned", (row) => link("operations", row.operation_id, instant(row.created_at))],
  ["Action", what],
  ["State", (row) => html`<${State} of=${row.state} />`],
  ["Items", (row) => amount(row.eligible.count), "number"],
  ["So far", counted, "wide"],
  ["By", "actor", "wide"],
  ["Why", "reason", "wide"],
];

export const Operations = (given) => html`<${List} ...${given} columns=${COLUMNS} of="operation_id" empty="No operation yet." />`;

// Plans one action on the items of a filter, and opens the plan. Nothing happens to an item before the plan's start.
export function Plan({ caller, action, kind, filter, label, text }) {
  const scope = `${kind}:write`;
  return html`<${Action} caller=${caller} scope="operations:write" op="planOperation" label=${label} text=${text}
    allowed=${caller.scopes.includes(scope)} refusal="This key lacks the scope ${scope}." done=${({ operation_id: id }) => go("operations", id)} fields=${[
      { name: "reason", label: "Reason", required: true },
      { name: "rate", label: "Items a second", required: true, value: "10", ...DIGITS },
      { name: "canary", label: "Canary", value: "1", ...DIGITS, hint: "The number of items that run first. The others follow when these have succeeded. Empty: no canary." },
      { name: "share", label: "Stop at (% failed)", value: "30", inputmode: "numeric", pattern: "[1-9][0-9]?|100", hint: "Of the attempts in the last 60 seconds. Empty: never." },
    ]} request=${({ reason, rate, canary, share }) => ({
      path: PATH,
      body: {
        action, kind, filter, reason, dry_run: true, max_per_second: +rate, ...(canary && { canary: +canary }),
        ...(share && { stop_when: { failed_share: +share / 100, within: 60 } }),
      },
    })} />`;
}

export const Operation = (given) => html`<${Item} ...${given} title="Operation" lead=${(operation) => html`<${State} of=${operation.state} />
  ${" "}${what(operation)}: ${counted(operation)}. ${operation.stopped_because || operation.reason}`}>${(operation, path, done) => html`
      <progress aria-label="Items acted on" max=${Math.max(operation.eligible.count, 1)} value=${operation.eligible.count - (operation.waiting ?? operation.eligible.count - operation.done)} />
      ${operation.kind && html`<${Steps} ...${{ operation, path, done, caller: given.caller }} />`}
      <${Facts} of=${facts(operation)} />
      ${operation.kind && html`<${Told} title="By failure" counts=${operation.eligible.by_failure} />
        <${Told} title="By destination" counts=${operation.eligible.by_destination} />
        <${Told} title="Left alone" counts=${Object.fromEntries(operation.not_eligible.map(({ reason, count }) => [reason, count]))} />
        <h2>Items</h2><${Rows} key=${operation.version} caption="Items" ...${given} path=${`${path}/items`} things="items"
          columns=${ITEMS} of="item_id" empty="No item matches." />`}`}</${Item}>`;

const ITEMS = [
  ["Item", (row) => linkOf(row.item_id)],
  ["Outcome", "outcome"],
  instantColumn("Acted on", "at", "wide", true),
];

const facts = (operation) => [
  ["Items", amount(operation.eligible.count)],
  operation.eligible.amount !== undefined && operation.kind === "payments" && ["Their sum", amount(operation.eligible.amount)],
  operation.task_id && ["Task", link("tasks", operation.task_id)],
  ["Why", operation.reason],
  operation.actor && ["By", link("keys", operation.actor)],
  ["Planned", exact(operation.created_at)],
  operation.started_at && ["Started", exact(operation.started_at)],
  ["Ended", exact(operation.finished_at)],
  operation.kind && ["Items a second", `at most ${operation.max_per_second}`],
  operation.kind && ["Canary", operation.canary ?? "none"],
  operation.kind && ["Stop rule", operation.stop_when ? `${Math.round(operation.stop_when.failed_share * 100)} % failed in ${operation.stop_when.within} s` : "none"],
];

function Told({ title, counts }) {
  const rows = Object.entries(counts || {});
  return rows.length > 0 && html`<${Table} caption=${title} rows=${rows} of=${([name]) => name} columns=${[
    [title, ([name]) => name],
    ["Items", ([, count]) => amount(count), "number"],
  ]} />`;
}

function Steps({ operation, path, caller, done }) {
  const needed = `${operation.kind === "payments" ? "payments" : "tasks"}:write`;
  const bound = caller.account_ids && operation.actor !== caller.key_id && "A key that is bound to accounts starts only operations that it planned.";
  const step = (label, op, name, states, text) => {
    const why = lacks(caller, needed, op) || (name !== "stop" && bound) || "";
    return html`<${Action} ...${{ caller, scope: "operations:write", done }} label=${label} op=${op}
    allowed=${!why && states.includes(operation.state)} refusal=${why || `The operation is ${operation.state}.`}
    danger=${name === "stop"} text=${text} request=${() => ({ path: `${path}/${name}`, body: {} })} />`;
  };
  return html`<${Actions}>
    ${step("Start", "startOperation", "start", ["PLANNED"], `${amount(operation.eligible.count)} items, at most ${operation.max_per_second} a second.`)}
    ${step("Stop", "stopOperation", "stop", ["RUNNING", "PAUSED", "PLANNED"], "What was sent is not taken back.")}
    ${step("Resume", "resumeOperation", "resume", ["STOPPED", "RUNNING", "PAUSED"], "Its canary begins anew.")}
  </${Actions}>`;
}

const GROUPED_MAX = 100;
const EVERY_MS = 5_000;
const FAILURE_MAX = 120;
// As the API makes it: a failure without what differs from one item to the next.
const IDS = /(?<![\p{L}\p{N}_])(?:[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{12,}|\p{Nd}{4,})(?![\p{L}\p{N}_])/giu;

export const failureOf = (error) => [...(error || "no error was recorded").replace(IDS, "…")].slice(0, FAILURE_MAX).join("");

// A run tells its failure with its attempts, a task by itself.
const errorOf = (row) => row.error ?? row.attempts?.at?.(-1)?.error ?? row.reason;

function grouped(rows, error) {
  const groups = new Map();
  for (const row of rows) {
    const group = { failure: failureOf(error(row)), destination: addressOf(row.target || {}), count: 0 };
    const key = JSON.stringify(group);
    groups.set(key, { ...group, count: (groups.get(key)?.count || 0) + 1 });
  }
  return [...groups.values()].sort((one, other) => other.count - one.count);
}

const filterOf = ({ failure, destination }) => ({ failure, ...(destination && { destination }) });

export const Dead = ({ caller }) => html`<h1 tabindex="-1">Dead letters</h1>
  <${Groups} title="Dead tasks and runs" kind="tasks" path="tasks" status="DEAD" caller=${caller} error=${errorOf}
    empty="No task is dead." />
  ${!lacks(caller, "payments:read", "listPayments") && html`<${Groups} title="Parked payments" kind="payments" path="payments" status="EXECUTING" caller=${caller}
    error=${(row) => row.error_message} empty="No payment is parked." />`}
  ${!lacks(caller, "ops", "listDeadLetters") && ["tasks", "payments"].map((queue) => html`<${Letters} queue=${queue} />`)}`;

function Groups({ title, kind, path, status, caller, error, empty }) {
  const found = usePoll(path, { query: { status, order: "desc", limit: GROUPED_MAX }, every: EVERY_MS });
  return html`<section><h2>${title}</h2><${Shown} found=${found}>${(body) => {
    const rows = grouped(body[kind], error);
    return rows.length === 0 ? html`<p class="empty" role="status">${empty}</p>` : html`
      ${body.next_cursor && html`<p class="quiet">Counted are the newest ${GROUPED_MAX}. A plan counts all.</p>`}
      <${Table} caption=${title} rows=${rows} of=${(row) => row.failure + row.destination} columns=${[
        ["Failure", "failure"],
        ["Destination", "destination", "wide address"],
        numberColumn("Items", "count"),
        ["Actions", (row) => html`<span class="buttons">
          <${Plan} caller=${caller} action="redrive" kind=${kind} filter=${filterOf(row)} label="Redrive this group"
            text="A plan first: it counts the items and changes nothing before its start." />
          ${kind === "tasks" && html`<${Plan} caller=${caller} action="discard" kind=${kind} filter=${filterOf(row)} label="Discard this group"
            text="A plan first. The letters go, and the tasks stay dead." />`}</span>`],
      ]} />`;
  }}</${Shown}></section>`;
}

// Each look hides the letters from others for a moment, so the page looks when it is opened and when it is told to.
function Letters({ queue }) {
  const found = usePoll(`ops/dlq/${queue}`, { query: { group: "failure" }, every: 0 });
  return html`<section><h2>Letters of all tenants, queue ${queue}</h2><p><button onClick=${found.again}>Look again</button></p>
    <${Shown} found=${found}>${({ groups }) => groups.length === 0 ? html`<p class="quiet">No letter.</p>` : html`
      <${Table} caption="Letters of ${queue}" rows=${groups} of=${(row) => row.failure + row.destination} columns=${[
        ["Failure", "failure"],
        ["Destination", "destination", "wide address"],
        numberColumn("Letters", "count"),
        ["Oldest", (row) => html`${instant(row.oldest)} (${ago(row.oldest)})`, "wide"],
      ]} />`}</${Shown}></section>`;
}

const state = ({ paused }) => html`<${State} of=${paused ? "PAUSED" : "ACTIVE"} />`;
const rate = ({ rate: most, period_seconds: seconds }) => (most === null ? "as tasks say" : `${most} in ${seconds} s`);
const parallel = ({ parallelism }) => parallelism ?? "as tasks say";

const KEY_COLUMNS = [
  ["Flow key", (row) => link("flow-keys", row.key)],
  ["State", state],
  ["Rate", rate, "wide"],
  ["At a time", parallel, "wide"],
  numberColumn("Waiting", "waiting"),
  numberColumn("Running", "running", "wide"),
];

export const FlowKeys = (given) => html`<${List} ...${given} columns=${KEY_COLUMNS} of="key" empty="No flow key is in use." />`;

export const FlowKey = (given) => html`<${Item} ...${given} title="Flow key" whole told=${false}
  lead=${(key) => html`${state(key)} ${amount(key.waiting)} waiting, ${amount(key.running)} running.`}>${(key, path, done) => {
    const may = { caller: given.caller, scope: "tasks:write", done };
    return html`<${Actions}>
        <${Action} ...${may} op="pauseFlowKey" label="Pause" danger allowed=${!key.paused} refusal="The key is paused." text="Runs that are due wait. Runs that have begun go on."
          path="${path}/pause" />
        <${Action} ...${may} op="resumeFlowKey" label="Resume" allowed=${key.paused} refusal="The key is not paused." path="${path}/resume" />
        <${Action} ...${may} op="changeFlowKey" label="Pin values" text="A pinned value overrides the value of each task. An empty field removes the pin." fields=${[
          { name: "rate", label: "Rate", value: String(key.rate ?? ""), ...DIGITS },
          { name: "seconds", label: "Period (seconds)", value: String(key.period_seconds), ...DIGITS, required: true },
          { name: "parallelism", label: "At a time", value: String(key.parallelism ?? ""), ...DIGITS },
        ]} request=${({ rate: most, seconds, parallelism }) => ({ method: "PATCH", path, version: key.version, body: {
          rate: most ? +most : null, ...(most && { period_seconds: +seconds }), parallelism: parallelism ? +parallelism : null,
        } })} /></${Actions}>
      <${Facts} of=${[["Rate", rate(key)], ["At a time", parallel(key)], ["Paused", exact(key.paused_at)], ["Version", key.version]]} />`;
  }}</${Item}>`;

export const Destinations = (given) => html`<${List} ...${given} limit=${null} of="id"
  columns=${[...DESTINATION_COLUMNS, ["Actions", (row) => html`<${HeldSteps} row=${row} caller=${given.caller} />`]]}
  empty="All destinations are healthy." />`;

const DESTINATION_COLUMNS = [
  ["Destination", (row) => `${row.type} ${row.address}`],
  ["State", (row) => html`<${State} of=${row.state} tone=${row.state === "CLOSED" ? "good" : "bad"} />`],
  numberColumn("Failures", "failures", "wide"),
  instantColumn("Since", "since", "wide"),
  instantColumn("Next probe", "next_probe_at", "wide"),
  numberColumn("Waiting", "waiting", "wide"),
  ["Last error", "last_error", "wide"],
];

function HeldSteps({ row, caller }) {
  const may = { caller, scope: "tasks:write", allowed: row.state !== "CLOSED", refusal: "The breaker is closed." };
  const path = `destinations/${row.id}`;
  return html`<span class="buttons">
    <${Action} ...${may} op="probeDestination" label="Probe" text="The next call is a probe." path="${path}/probe" />
    <${Action} ...${may} op="resetDestination" label="Reset" allowed text="Failures are forgotten. Calls begin slowly." path="${path}/reset" /></span>`;
}
