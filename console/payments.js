// Payments: the list, and one payment with its timeline.

import { textOf, whole } from "./api.js";
import { Action, ago, amount, Facts, html, Instant, Raw, Shown, State, usePoll } from "./parts.js";
import { late, link, List, money, Table } from "./lists.js";

const STATES = ["", "PENDING", "EXECUTING", "COMPLETED", "FAILED", "CANCELLED"];
const FINAL = ["COMPLETED", "FAILED", "CANCELLED"];
const PATH = "api/v1/payments";

export const FILTERS = [
  { name: "status", label: "Status", options: STATES },
  { name: "account_id", label: "Account" },
  { name: "from", label: "From (UTC)", type: "datetime-local", step: 1 },
  { name: "until", label: "Until (UTC)", type: "datetime-local", step: 1 },
];

export const COLUMNS = [
  ["Scheduled for", (row) => link("payments", row.payment_id, html`<${Instant} at=${row.scheduled_time} />`)],
  ["Status", (row) => html`<${State} of=${row.status} />`],
  ["Amount", money("amount"), "number"],
  ["From", (row) => row.from_account_id, "wide"],
  ["To", (row) => row.to_account_id, "wide"],
  ["Late", late, "number wide"],
  ["Payment", (row) => html`<code>${row.payment_id}</code>`, "wide"],
];

export const Payments = ({ query }) => html`<${List} title="Payments" page="payments" path=${PATH} things="payments"
  filters=${FILTERS} columns=${COLUMNS} of=${(row) => row.payment_id} query=${query}
  always=${{ order: query.order || "desc" }} empty="No payment fits." />`;

export function Payment({ id, caller }) {
  const path = `${PATH}/${encodeURIComponent(id)}`;
  const found = usePoll(path, { every: 1_000, until: (payment) => FINAL.includes(payment.status) });
  return html`<h1 tabindex="-1">Payment</h1><p><code>${id}</code></p>
    <${Shown} found=${found}>${(payment) => html`
      <p role="status" class="lead"><${State} of=${payment.status} /> ${told(payment)}</p>
      <${Actions} ...${{ payment, path, caller }} done=${found.again} />
      <${Facts} of=${facts(payment)} />
      <${Timeline} path=${path} version=${payment.version} />
      <${Raw} body=${payment} />`}</${Shown}>`;
}

function told({ status, scheduled_time: at, lateness_ms: late, error_message: error }) {
  if (status === "PENDING") return `It is due ${ago(at)}.`;
  if (status === "COMPLETED") return `The money moved ${late} ms after its instant.`;
  return error || "";
}

const facts = (payment) => [
  ["Amount", amount(payment.amount)],
  ["From", link("accounts", payment.from_account_id)],
  ["To", link("accounts", payment.to_account_id)],
  ["Scheduled for", html`<${Instant} at=${payment.scheduled_time} precise />`],
  ["Registered", html`<${Instant} at=${payment.created_at} precise />`],
  payment.executed_at && ["Executed", html`<${Instant} at=${payment.executed_at} precise />`],
  payment.cancelled_at && ["Cancelled", html`<${Instant} at=${payment.cancelled_at} precise />`],
  ["Funding", payment.funding],
  payment.description && ["Description", payment.description],
  ...Object.entries(payment.metadata).map(([name, value]) => [name, value]),
  ["Attempts", payment.attempts],
  ["Version", payment.version],
  payment.error_code && ["Error", html`<code>${payment.error_code}</code> ${payment.error_message}`],
];

function Actions({ payment, path, caller, done }) {
  const pending = payment.status === "PENDING";
  const refusal = `The payment is ${payment.status}.`;
  const may = { caller, scope: "payments:write", allowed: pending, refusal, done };
  const { version } = payment;
  return html`<p class="buttons" role="group" aria-label="Actions">
    <${Action} ...${may} label="Reschedule" fields=${[
      { name: "at", label: "Scheduled for (UTC)", type: "datetime-local", step: 1, required: true, value: payment.scheduled_time.slice(0, 19) },
    ]} request=${({ at }) => ({ method: "PATCH", path, version, body: { scheduled_time: new Date(`${at}Z`).toISOString() } })} />
    <${Action} ...${may} label="Change amount" fields=${[
      { name: "amount", label: "Amount", required: true, inputmode: "numeric", pattern: "[1-9][0-9]*", value: String(payment.amount) },
    ]} request=${({ amount: digits }) => ({ method: "PATCH", path, version, body: { amount: whole(digits) } })} />
    <${Action} ...${may} label="Cancel payment" danger text="What is held for it becomes available again. A cancelled payment stays cancelled."
      request=${() => ({ method: "POST", path: `${path}/cancel`, version })} />
  </p>`;
}

// The fields that the event replaced, with the values before and after.
const changes = ({ before, after }) => Object.keys(before || {}).filter((name) => !["status", "version"].includes(name))
  .map((name) => ` · ${name} ${shown(before[name])} → ${shown(after[name])}`).join("");
const shown = (value) => (value === null || value === undefined ? "–" : typeof value === "object" ? textOf(value) : String(value));

function Timeline({ path, version }) {
  const events = usePoll(`${path}/events`, { every: 0, stamp: version });
  const executions = usePoll(`${path}/executions`, { every: 0, stamp: version });
  return html`<h2>Timeline</h2>
    <${Shown} found=${events}>${(body) => html`<ol class="timeline">${body.events.map((event) => html`<li>
      <${Instant} at=${event.occurred_at} precise /> ${link("events", event.event_id, html`<strong>${event.event_type}</strong>`)}
      <span class="quiet">by ${event.actor.type} ${event.actor.id}${changes(event.data)}</span></li>`)}</ol>`}</${Shown}>
    <h2>Attempts</h2>
    <${Shown} found=${executions}>${(body) => body.executions.length === 0 ? html`<p class="quiet">None yet.</p>` : html`
      <${Table} caption="Attempts" rows=${body.executions} of=${(row) => row.execution_id} columns=${ATTEMPTS} />`}</${Shown}>`;
}

const ATTEMPTS = [
  ["Started", (row) => html`<${Instant} at=${row.started_at} precise />`],
  ["Outcome", (row) => html`<${State} of=${row.status} />`],
  ["Ended", (row) => html`<${Instant} at=${row.completed_at} precise />`, "wide"],
  ["Error", (row) => row.error_message || "–", "wide"],
];
