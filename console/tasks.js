// Tasks: the list, a task that runs once, a task that recurs, and one run.

import { Action, ago, Facts, html, Instant, Raw, Shown, State, usePoll } from "./parts.js";
import { addressOf, late, link, List, Rows, Table } from "./lists.js";

const PATH = "api/v1/tasks";
const STATES = ["", "PENDING", "RUNNING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED", "ACTIVE", "PAUSED", "FINISHED"];
const FINAL = ["SUCCEEDED", "CANCELLED", "EXPIRED", "SKIPPED", "MISSED"];
const instant = (name) => (row) => html`<${Instant} at=${row[name]} />`;

const FILTERS = [
  { name: "status", label: "Status", options: STATES },
  { name: "name", label: "Name" },
  { name: "tag", label: "Tag" },
  { name: "from", label: "From (UTC)", type: "datetime-local", step: 1 },
  { name: "until", label: "Until (UTC)", type: "datetime-local", step: 1 },
];

// A list by state also has runs of tasks that recur.
const COLUMNS = [
  ["Planned for", (row) => (row.run_id ? link("runs", row.run_id, html`<${Instant} at=${row.planned_at} />`)
    : link("tasks", row.task_id, html`<${Instant} at=${row.next_run_at || row.run_at || row.created_at} />`))],
  ["Status", (row) => html`<${State} of=${row.status} />`],
  ["Plan", (row) => (row.run_id ? link("tasks", row.task_id, "a run") : row.cron ? html`<code>${row.cron}</code> ${row.timezone}` : "once"), "wide"],
  ["Name", (row) => row.name || "–"],
  ["Tags", (row) => row.tags?.join(" ") || "–", "wide"],
  ["Target", (row) => (row.target ? target(row) : "–"), "wide address"],
  ["Task", (row) => html`<code>${row.run_id || row.task_id}</code>`, "wide"],
];

const target = (row) => `${row.target.type} ${addressOf(row.target)}`;

export const Tasks = ({ query }) => html`<${List} title="Tasks" page="tasks" path=${PATH} things="tasks"
  filters=${FILTERS} columns=${COLUMNS} of=${(row) => row.run_id || row.task_id} query=${query}
  always=${{ order: query.order || "desc" }} empty="No task fits." />`;

export function Task({ id, query, caller }) {
  const path = `${PATH}/${encodeURIComponent(id)}`;
  const found = usePoll(path, { every: 1_000, until: (task) => FINAL.includes(task.status) });
  return html`<h1 tabindex="-1">Task</h1><p><code>${id}</code></p>
    <${Shown} found=${found}>${(task) => html`
      <p role="status" class="lead"><${State} of=${task.status} /> ${told(task)}</p>
      <${task.cron ? PlanActions : OnceActions} ...${{ task, path, caller, done: found.again }} />
      <${Facts} of=${facts(task)} />
      ${task.cron ? html`<${Next} id=${id} version=${task.version} /><h2>Runs</h2>
        <${Rows} caption="Runs" page="tasks" id=${id} query=${query} path=${`${path}/runs`} things="runs" limit=${20}
          columns=${RUNS} of=${(row) => row.run_id} empty="No run yet." />`
      : html`<${History} task=${task} /><${Attempts} path=${`${path}/runs/${encodeURIComponent(id)}`} version=${task.version} />`}
      <${Raw} body=${task} />`}</${Shown}>`;
}

function told(task) {
  const next = task.next_run_at && `The next attempt is due ${ago(task.next_run_at)}.`;
  if (task.status === "SUCCEEDED") return `It began ${task.last_run?.lateness_ms} ms after its instant.`;
  return [next, task.error || task.reason].filter(Boolean).join(" ");
}

const facts = (task) => [
  task.name && ["Name", task.name],
  task.tags.length > 0 && ["Tags", task.tags.join(" ")],
  ["Target", target(task)],
  task.cron ? ["Plan", html`<code>${task.cron}</code> ${task.timezone}`] : ["Planned for", html`<${Instant} at=${task.run_at} precise />`],
  task.cron && ["Overlap", task.overlap],
  task.cron && ["Catch-up", task.catch_up],
  task.next_run_at && ["Next", html`<${Instant} at=${task.next_run_at} precise />`],
  task.attempts !== undefined && ["Attempts", `${task.attempts} of ${task.retry.max_attempts}`],
  ["Acknowledged by", task.ack === "explicit" ? "the receiver" : "the answer"],
  ["Timeout", `${task.timeout_seconds} s`],
  task.flow_control && ["Flow key", task.flow_control.key],
  ["Registered", html`<${Instant} at=${task.created_at} precise />`],
  ["Version", task.version],
];

function OnceActions({ task, path, caller, done }) {
  const waits = ["PENDING", "RETRYING"].includes(task.status);
  const may = { caller, scope: "tasks:write", refusal: `The task is ${task.status}.`, done };
  const { version } = task;
  return html`<p class="buttons" role="group" aria-label="Actions">
    <${Action} ...${may} label="Reschedule" allowed=${task.status === "PENDING"} fields=${[
      { name: "at", label: "Planned for (UTC)", type: "datetime-local", step: 1, required: true, value: task.run_at.slice(0, 19) },
    ]} request=${({ at }) => ({ method: "PATCH", path, version, body: { run_at: new Date(`${at}Z`).toISOString() } })} />
    <${Action} ...${may} label="Retry" allowed=${task.status === "DEAD"} text="Its attempts are counted anew."
      request=${() => ({ method: "POST", path: `${path}/retry` })} />
    <${Action} ...${may} label="Cancel task" danger allowed=${waits} request=${() => ({ method: "DELETE", path, version })} />
  </p>`;
}

function PlanActions({ task, path, caller, done }) {
  const may = { caller, scope: "tasks:write", refusal: `The task is ${task.status}.`, done };
  return html`<p class="buttons" role="group" aria-label="Actions">
    <${Action} ...${may} label="Run now" allowed=${task.status !== "CANCELLED"} text="The plan stays as it is."
      request=${(_, idempotencyKey) => ({ method: "POST", path: `${path}/trigger`, idempotencyKey })} />
    <${Action} ...${may} label="Pause" allowed=${task.status === "ACTIVE"} fields=${[{ name: "reason", label: "Reason" }]}
      request=${({ reason }) => ({ method: "POST", path: `${path}/pause`, body: reason ? { reason } : {} })} />
    <${Action} ...${may} label="Resume" allowed=${task.status === "PAUSED"} request=${() => ({ method: "POST", path: `${path}/resume` })} />
    <${Action} ...${may} label="Cancel task" danger allowed=${task.status !== "CANCELLED"} text="No further run is planned."
      request=${() => ({ method: "DELETE", path, version: task.version })} />
  </p>`;
}

const History = ({ task }) => html`<h2>Timeline</h2><ol class="timeline">${task.history.map((line) => html`<li>
  <${Instant} at=${line.at} precise /> <strong>${line.status}</strong> <span class="quiet">${line.reason}</span></li>`)}</ol>`;

function Attempts({ path, version }) {
  const found = usePoll(path, { every: 0, stamp: version });
  return html`<h2>Attempts</h2><${Shown} found=${found}>${(run) => run.attempts.length === 0 ? html`<p class="quiet">None yet.</p>`
    : html`<${Table} caption="Attempts" rows=${run.attempts} of=${(row) => row.started_at} columns=${ATTEMPTS} />`}</${Shown}>`;
}

const ATTEMPTS = [
  ["Started", (row) => html`<${Instant} at=${row.started_at} precise />`],
  ["Outcome", (row) => html`<${State} of=${row.outcome} />`],
  ["Ended", (row) => html`<${Instant} at=${row.finished_at} precise />`, "wide"],
  ["HTTP", (row) => row.http_status || "–", "number wide"],
  ["Error", (row) => row.error || "–"],
];

const RUNS = [
  ["Planned for", (row) => link("runs", row.run_id, html`<${Instant} at=${row.planned_at} />`)],
  ["Status", (row) => html`<${State} of=${row.status} />`],
  ["Started", instant("started_at"), "wide"],
  ["Late", late, "number"],
  ["Attempts", (row) => row.attempts.length, "number wide"],
  ["Reason", (row) => row.reason || "–", "wide"],
];

function Next({ id, version }) {
  const found = usePreview({ task_id: id, count: 5 }, version);
  return html`<h2>Next</h2><${Shown} found=${found}>${(body) => html`<${Preview} body=${body} />`}</${Shown}>`;
}

// The instants of a plan. The request is a POST, for the plan is its body; it changes nothing.
export const usePreview = (body, stamp) => usePoll(`${PATH}/preview`, { method: "POST", body, every: 0, stamp });

export const Preview = ({ body }) => body.next.length === 0 ? html`<p class="quiet">It does not run again.</p>`
  : html`<${Table} caption="Next instants" rows=${body.next} of=${(row) => row.at} columns=${NEXT} />`;

const NEXT = [
  ["Instant (UTC)", instant("at")],
  ["Local time", (row) => row.local, "wide"],
  ["Note", (row) => row.note || "–"],
];

export function Run({ id, caller }) {
  const path = `api/v1/runs/${encodeURIComponent(id)}`;
  const found = usePoll(path, { every: 1_000, until: (run) => FINAL.includes(run.status) });
  return html`<h1 tabindex="-1">Run</h1><p><code>${id}</code></p>
    <${Shown} found=${found}>${(run) => html`
      <p role="status" class="lead"><${State} of=${run.status} /> ${run.reason || ""}</p>
      <p class="buttons" role="group" aria-label="Actions">
        <${Action} ...${{ caller, scope: "tasks:write", refusal: `The run is ${run.status}.`, done: found.again }} label="Retry"
          allowed=${run.status === "DEAD"} text="Its attempts are counted anew." request=${() => ({ method: "POST", path: `${path}/retry` })} /></p>
      <${Facts} of=${[
        ["Task", link("tasks", run.task_id)],
        ["Planned for", html`<${Instant} at=${run.planned_at} precise />`],
        ["Started", html`<${Instant} at=${run.started_at} precise />`],
        ["Ended", html`<${Instant} at=${run.finished_at} precise />`],
        ["Late", late(run)],
        run.next_attempt_at && ["Next attempt", html`<${Instant} at=${run.next_attempt_at} precise />`],
        ["Version", run.version],
      ]} />
      <h2>Attempts</h2>
      <${Table} caption="Attempts" rows=${run.attempts} of=${(row) => row.started_at} columns=${ATTEMPTS} />
      <${Raw} body=${run} />`}</${Shown}>`;
}
