// Tasks: the list, a task that runs once, a task that recurs, and one run. The forms for what is new, payments too.

import { go, hrefOf, python, under, usePoll, valueOf, whole } from "./api.js";
import {
  Action, Actions, addressOf, ago, Command, DIGITS, exact, Facts, html, instant, instantAsked, instantColumn, instantField,
  instantOf, Item, late, lateColumn, link, List, refused, Rows, Shown, State, STATUS, Table, useForm,
} from "./parts.js";

const PATH = "tasks";
const STATES = ["", "PENDING", "RUNNING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED", "ACTIVE", "PAUSED", "FINISHED"];

const filters = (options, ...fields) => [{ name: "status", label: "Status", options }, ...fields, instantField("from", "From"), instantField("until", "Until")];
const FILTERS = filters(STATES, { name: "name", label: "Name" }, { name: "tag", label: "Tag" });

// A list by state also has runs of tasks that recur.
const COLUMNS = [
  ["Planned for", (row) => (row.run_id ? link("runs", row.run_id, instant(row.planned_at))
    : link("tasks", row.task_id, instant(row.next_run_at || row.run_at || row.created_at)))],
  STATUS,
  ["Plan", (row) => (row.run_id ? link("tasks", row.task_id, "a run") : row.cron ? html`<code>${row.cron}</code> ${row.timezone}` : "once"), "wide"],
  ["Name", "name"],
  ["Tags", (row) => row.tags?.join(" ") || "–", "wide"],
  ["Target", (row) => (row.target ? target(row) : "–"), "wide address"],
  ["Task", (row) => html`<code>${row.run_id || row.task_id}</code>`, "wide"],
];

const target = (row) => `${row.target.type} ${addressOf(row.target)}`;

export const Tasks = (given) => html`<${List} ...${given} filters=${FILTERS} columns=${COLUMNS} of=${(row) => row.run_id || row.task_id}
  always=${{ order: given.query.order || "desc" }} empty="No task matches the filters." />`;

export const Task = (given) => html`<${Item} ...${given} title="Task" lead=${(task) => html`<${State} of=${task.status} /> ${told(task)}`}>${(task, path, done) => html`
      <${task.cron ? PlanActions : OnceActions} ...${{ task, path, done, caller: given.caller }} />
      <${Facts} of=${facts(task)} />
      ${task.cron ? html`<${Next} id=${task.task_id} version=${task.version} /><h2>Runs</h2>
        <${Rows} caption="Runs" ...${given} path=${`${path}/runs`} things="runs" limit=${20}
          columns=${RUNS} of="run_id" empty="No run yet." />`
      : html`<${History} task=${task} /><${Attempts} path=${under("runs", task.task_id)} version=${task.version} />`}`}</${Item}>`;

function told(task) {
  const next = task.next_run_at && `The next attempt is due ${ago(task.next_run_at)}.`;
  if (task.status === "SUCCEEDED") return `It began ${task.last_run?.lateness_ms} ms after its instant.`;
  return [next, task.error || task.reason].filter(Boolean).join(" ");
}

const facts = (task) => [
  task.name && ["Name", task.name],
  task.tags.length > 0 && ["Tags", task.tags.join(" ")],
  ["Target", target(task)],
  task.cron ? ["Plan", html`<code>${task.cron}</code> ${task.timezone}`] : ["Planned for", exact(task.run_at)],
  task.cron && ["Overlap", task.overlap],
  task.cron && ["Catch-up", task.catch_up],
  task.next_run_at && ["Next", exact(task.next_run_at)],
  task.attempts !== undefined && ["Attempts", `${task.attempts} of ${task.retry.max_attempts}`],
  ["Acknowledged by", task.ack === "explicit" ? "the receiver" : "the answer"],
  ["Timeout", `${task.timeout_seconds} s`],
  task.flow_control && ["Flow key", task.flow_control.key],
  ["Registered", exact(task.created_at)],
  ["Version", task.version],
];

function OnceActions({ task, path, caller, done }) {
  const waits = ["PENDING", "RETRYING"].includes(task.status);
  const may = { caller, scope: "tasks:write", refusal: `The task is ${task.status}.`, done };
  const { version } = task;
  return html`<${Actions}>
    <${Action} ...${may} op="changeTask" label="Reschedule" allowed=${task.status === "PENDING"} fields=${[
      instantAsked("at", "Planned for", task.run_at),
    ]} request=${({ at }) => ({ method: "PATCH", path, version, body: { run_at: instantOf(at) } })} />
    <${Action} ...${may} op="retryTask" label="Retry" allowed=${task.status === "DEAD"} text="Its attempts are counted anew."
      path="${path}/retry" />
    <${Action} ...${may} op="cancelTask" label="Cancel task" danger allowed=${waits} request=${() => ({ method: "DELETE", path, version })} />
  </${Actions}>`;
}

function PlanActions({ task, path, caller, done }) {
  const may = { caller, scope: "tasks:write", allowed: task.status !== "CANCELLED", refusal: `The task is ${task.status}.`, done };
  return html`<${Actions}>
    <${Action} ...${may} op="triggerTask" label="Run now" text="The plan stays as it is."
      request=${(_, idempotencyKey) => ({ path: `${path}/trigger`, idempotencyKey })} />
    <${Action} ...${may} op="pauseTask" label="Pause" allowed=${task.status === "ACTIVE"} fields=${[{ name: "reason", label: "Reason" }]}
      request=${({ reason }) => ({ path: `${path}/pause`, body: reason ? { reason } : {} })} />
    <${Action} ...${may} op="resumeTask" label="Resume" allowed=${task.status === "PAUSED"} path="${path}/resume" />
    <${Action} ...${may} op="changeTask" label="Change cron" fields=${[
      { ...CRON, value: task.cron },
      { ...ZONE, value: task.timezone },
    ]} shows=${(given) => html`<${Previewed} ...${given} />`} request=${(body) => ({ method: "PATCH", path, version: task.version, body })} />
    <${Action} ...${may} op="backfillTask" label="Backfill" text="Starts one run for each planned instant of a past interval." done=${({ operation_id: id }) => go("operations", id)} fields=${[
      instantAsked("from", "From"),
      instantAsked("to", "To"),
    ]} request=${({ from, to }, idempotencyKey) => ({ path: `${path}/backfill`, idempotencyKey, body: { from: instantOf(from), to: instantOf(to) } })} />
    <${Action} ...${may} op="cancelTask" label="Cancel task" danger text="No attempt of any run begins any more. Waiting runs end as CANCELLED. An attempt that has begun finishes."
      request=${() => ({ method: "DELETE", path, version: task.version })} />
  </${Actions}>`;
}

const History = ({ task }) => html`<h2>Timeline</h2><ol class="timeline">${task.history.map((line) => html`<li>
  ${exact(line.at)} <strong>${line.status}</strong> <span class="quiet">${line.reason}</span></li>`)}</ol>`;

function Attempts({ path, version }) {
  const found = usePoll(path, { every: 0, stamp: version });
  return html`<h2>Attempts</h2><${Shown} found=${found}>${(run) => run.attempts.length === 0 ? html`<p class="quiet">None yet.</p>`
    : html`<${AttemptsOf} run=${run} />`}</${Shown}>`;
}

const AttemptsOf = ({ run }) => html`<${Table} caption="Attempts" rows=${run.attempts} of="started_at" columns=${[
  instantColumn("Started", "started_at", "", true),
  lateColumn(run.planned_at),
  ["Outcome", (row) => html`<${State} of=${row.outcome} />`],
  instantColumn("Ended", "finished_at", "wide", true),
  ["HTTP", "http_status", "number wide"],
  ["Error", "error"],
]} />`;

const RUNS = [
  ["Planned for", (row) => link("runs", row.run_id, instant(row.planned_at))],
  STATUS,
  instantColumn("Started", "started_at", "wide"),
  ["Late", late, "number"],
  ["Attempts", (row) => row.attempts.length, "number wide"],
  ["Reason", "reason", "wide"],
];

function Next({ id, version }) {
  const found = usePreview({ task_id: id, count: 5 }, version);
  return html`<h2>Next</h2><${Shown} found=${found}>${(body) => html`<${Preview} body=${body} />`}</${Shown}>`;
}

// The instants of a plan. The request is a POST, for the plan is its body; it changes nothing.
const usePreview = (body, stamp) => usePoll(`${PATH}/preview`, { method: "POST", body, every: 0, stamp });

const Preview = ({ body }) => body.next.length === 0 ? html`<p class="quiet">It does not run again.</p>`
  : html`<${Table} caption="Next instants" rows=${body.next} of="at" columns=${NEXT} />`;

const NEXT = [
  instantColumn("Instant (UTC)", "at"),
  ["Local time", "local", "wide"],
  ["Note", "note"],
];

// The states behind the first ten are those of recurring tasks.
const RUN_FILTERS = filters(STATES.slice(0, 10), { name: "task_id", label: "Task" });
const RUN_COLUMNS = [...RUNS, ["Task", (row) => link("tasks", row.task_id), "wide"]];

export const Runs = (given) => html`<${List} ...${given} filters=${RUN_FILTERS} columns=${RUN_COLUMNS} of="run_id" empty="No run matches the filters." />`;

export const Run = (given) => html`<${Item} ...${given} title="Run" lead=${({ status, reason }) => html`<${State} of=${status} /> ${reason}`}>${(run, path, done) => html`
      <${Actions}>
        <${Action} ...${{ done, caller: given.caller, scope: "tasks:write", refusal: `The run is ${run.status}.` }} op="retryRun" label="Retry"
          allowed=${run.status === "DEAD"} text="Its attempts are counted anew." path="${path}/retry" /></${Actions}>
      <${Facts} of=${[
        ["Task", link("tasks", run.task_id)],
        ["Planned for", exact(run.planned_at)],
        ["Started", exact(run.started_at)],
        ["Ended", exact(run.finished_at)],
        ["Late", late(run)],
        run.next_attempt_at && ["Next attempt", exact(run.next_attempt_at)],
        ["Version", run.version],
      ]} />
      <h2>Attempts</h2>
      <${AttemptsOf} run=${run} />`}</${Item}>`;

// New: the request is shown as it is typed.
const AT = instantAsked("at", "Instant");
const TARGET = [
  { name: "type", label: "Target", options: ["webhook", "sqs"], value: "webhook" },
  { name: "address", label: "Address", hint: "The URL of a webhook or of a queue", required: true },
  { name: "payload", label: "Payload (JSON)", rows: 4, value: "{}" },
  { name: "name", label: "Name" },
];
const CRON = { name: "cron", label: "Cron", hint: "Minute, hour, day of month, month, day of week", required: true, value: "30 2 * * *" };
const ZONE = { name: "timezone", label: "Time zone", required: true, value: "Europe/Berlin" };
const targetOf = ({ type, address }) => (type === "sqs" ? { type, queue_url: address } : { type, url: address });
const taskOf = (given) => ({ target: targetOf(given), payload: valueOf(given.payload), ...(given.name ? { name: given.name } : {}) });

// Each kind by its name: title, scope and operation, fields, the request that the fields make, and the page of what was made.
const KINDS = {
  payment: {
    title: "Payment", scope: "payments:write", op: "schedulePayment", call: "schedule_payment", made: ({ payment_id: id }) => ["payments", id],
    fields: [
      { name: "from", label: "From account", required: true },
      { name: "to", label: "To account", required: true },
      { name: "amount", label: "Amount", required: true, ...DIGITS },
      AT,
      { name: "funding", label: "Funding", options: ["reserve", "at_execution"], value: "reserve" },
      { name: "description", label: "Description" },
    ],
    request: ({ from, to, amount, at, funding, description }) => ({
      path: "payments/schedule",
      body: {
        from_account_id: from, to_account_id: to, amount: whole(amount), scheduled_time: instantOf(at), funding,
        ...(description ? { description } : {}),
      },
    }),
  },
  task: {
    title: "Task", scope: "tasks:write", op: "registerTask", call: "register_task", made: ({ task_id: id }) => ["tasks", id],
    fields: [AT, ...TARGET],
    request: (given) => ({ path: PATH, body: { run_at: instantOf(given.at), ...taskOf(given) } }),
  },
  cron: {
    title: "Cron", scope: "tasks:write", op: "registerTask", call: "register_task", made: ({ task_id: id }) => ["tasks", id],
    fields: [
      CRON,
      ZONE,
      ...TARGET,
    ],
    request: (given) => ({ path: PATH, body: { cron: given.cron, timezone: given.timezone, ...taskOf(given) } }),
  },
};

export function New({ query, caller }) {
  const name = KINDS[query.kind] ? query.kind : "payment";
  return html`<h1 tabindex="-1">New</h1>
    <nav class="buttons" aria-label="Kinds">${Object.entries(KINDS).map(([each, { title }]) => html`
      <a class="button" href=${hrefOf("new", "", { kind: each })} aria-current=${each === name ? "page" : null}>${title}</a>`)}</nav>
    <${Form} key=${name} kind=${KINDS[name]} caller=${caller} />`;
}

function Form({ kind, caller }) {
  const { scope, op, call, fields, request, made } = kind;
  const form = useForm({
    caller, scope, fields, anew: true, done: (body) => go(...made(body)),
    request: (values, idempotencyKey) => ({ ...request(values), idempotencyKey }),
  });
  const why = refused(caller, scope, op) || form.why;
  return html`<div class="two"><form onSubmit=${form.submit}>
      ${form.inputs}
      <p class="buttons"><button class="main" disabled=${why || form.busy} title=${why}>Register</button></p>
    </form>
    <div>${"cron" in form.values && html`<${Previewed} ...${form.values} />`}
      ${form.command}${form.asked && html`<${Command} what="a call in Python" text=${python(call, form.asked)} />`}</div></div>`;
}

function Previewed({ cron, timezone }) {
  const found = usePreview({ cron, timezone, count: 8 });
  return html`<h2>Next instants</h2><${Shown} found=${found}>${(body) => html`<${Preview} body=${body} />`}</${Shown}>`;
}
