// Payments with their timelines, and accounts with their journals and what is to come.

import { go, hrefOf, textOf, usePoll, whole } from "./api.js";
import {
  Action, Actions, ago, amount, DIGITS, exact, Facts, html, instant, instantAsked, instantColumn, instantField, instantOf, Item,
  late, lateColumn, link, List, numberColumn, Rows, Shown, State, STATUS, Steps, Table,
} from "./parts.js";

const PAYMENT_STATES = ["", "PENDING", "EXECUTING", "COMPLETED", "FAILED", "CANCELLED"];

const PAYMENT_FILTERS = [
  { name: "status", label: "Status", options: PAYMENT_STATES },
  { name: "account_id", label: "Account" },
  instantField("from", "From"),
  instantField("until", "Until"),
  { name: "metadata", label: "Metadata", placeholder: "key=value" },
];

const PAYMENT_COLUMNS = [
  ["Scheduled for", (row) => link("payments", row.payment_id, instant(row.scheduled_time))],
  STATUS,
  numberColumn("Amount", "amount"),
  ["From", "from_account_id", "wide"],
  ["To", "to_account_id", "wide"],
  ["Late", late, "number wide"],
  ["Payment", (row) => html`<code>${row.payment_id}</code>`, "wide"],
];

export const Payments = (given) => html`<${List} ...${given} filters=${PAYMENT_FILTERS} columns=${PAYMENT_COLUMNS} of="payment_id"
  always=${{ order: given.query.order || "desc" }} empty="No payment matches the filters." />`;

export const Payment = (given) => html`<${Item} ...${given} title="Payment"
  lead=${(payment) => html`<${State} of=${payment.status} /> ${told(payment)}`}>${(payment, path, done) => html`
    <${PaymentActions} ...${{ payment, path, done, caller: given.caller }} />
    <${Facts} of=${facts(payment)} />
    <${Timeline} ...${{ path, payment }} />`}</${Item}>`;

function told({ status, scheduled_time: at, lateness_ms: late, error_message: error }) {
  if (status === "PENDING") return `It is due ${ago(at)}.`;
  if (status === "COMPLETED") return `The money moved ${late} ms after its instant.`;
  return error || "";
}

const facts = (payment) => [
  ["Amount", amount(payment.amount)],
  ["From", link("accounts", payment.from_account_id)],
  ["To", link("accounts", payment.to_account_id)],
  ["Scheduled for", exact(payment.scheduled_time)],
  ["Registered", exact(payment.created_at)],
  payment.executed_at && ["Executed", exact(payment.executed_at)],
  payment.cancelled_at && ["Cancelled", exact(payment.cancelled_at)],
  ["Funding", payment.funding],
  payment.description && ["Description", payment.description],
  ...Object.entries(payment.metadata).map(([name, value]) => [name, value]),
  ["Attempts", payment.attempts],
  ["Version", payment.version],
  payment.error_code && ["Error", html`<code>${payment.error_code}</code> ${payment.error_message}`],
];

function PaymentActions({ payment, path, caller, done }) {
  const pending = payment.status === "PENDING";
  const refusal = `The payment is ${payment.status}.`;
  const may = { caller, scope: "payments:write", account: payment.from_account_id, allowed: pending, refusal, done };
  const { version } = payment;
  return html`<${Actions}>
    <${Action} ...${may} op="changePayment" label="Reschedule" fields=${[
      instantAsked("at", "Scheduled for", payment.scheduled_time),
    ]} request=${({ at }) => ({ method: "PATCH", path, version, body: { scheduled_time: instantOf(at) } })} />
    <${Action} ...${may} op="changePayment" label="Change amount" fields=${[
      { name: "amount", label: "Amount", required: true, ...DIGITS, value: String(payment.amount) },
    ]} request=${({ amount: digits }) => ({ method: "PATCH", path, version, body: { amount: whole(digits) } })} />
    <${Action} ...${may} op="cancelPaymentByPost" label="Cancel payment" danger text="The held amount becomes available again. A cancelled payment stays cancelled."
      request=${() => ({ path: `${path}/cancel`, version })} />
  </${Actions}>`;
}

// The fields that the event replaced, with the values before and after.
const changes = ({ before, after }) => Object.keys(before || {}).filter((name) => !["status", "version"].includes(name))
  .map((name) => ` · ${name} ${shown(before[name])} → ${shown(after[name])}`).join("");
const shown = (value) => (value === null || value === undefined ? "–" : typeof value === "object" ? textOf(value) : String(value));

function Timeline({ path, payment: { version, scheduled_time: planned } }) {
  const events = usePoll(`${path}/events`, { every: 0, stamp: version });
  const executions = usePoll(`${path}/executions`, { every: 0, stamp: version });
  return html`<h2>Timeline</h2>
    <${Shown} found=${events}>${(body) => html`<ol class="timeline">${body.events.map((event) => html`<li>
      ${exact(event.occurred_at)} ${link("events", event.event_id, html`<strong>${event.event_type}</strong>`)}
      <span class="quiet">by ${event.actor.type} ${event.actor.id}${changes(event.data)}</span></li>`)}</ol>`}</${Shown}>
    <h2>Attempts</h2>
    <${Shown} found=${executions}>${(body) => body.executions.length === 0 ? html`<p class="quiet">None yet.</p>` : html`
      <${Table} caption="Attempts" rows=${body.executions} of="execution_id" columns=${attempts(planned)} />`}</${Shown}>`;
}

const attempts = (planned) => [
  instantColumn("Started", "started_at", "", true),
  lateColumn(planned),
  ["Outcome", (row) => html`<${State} of=${row.status} />`],
  instantColumn("Ended", "completed_at", "wide", true),
  ["Error", "error_message", "wide"],
];

const ACCOUNTS = "accounts";
const FORECAST_MS = 30_000;

const ACCOUNT_FILTERS = [
  { name: "prefix", label: "Begins with" },
  { name: "status", label: "Status", options: ["", "ACTIVE", "FROZEN", "CLOSED"] },
];

const ACCOUNT_COLUMNS = [
  ["Account", (row) => link("accounts", row.account_id)],
  STATUS,
  numberColumn("Balance", "balance"),
  numberColumn("Available", "available", "wide"),
  numberColumn("Held", "reserved", "wide"),
];

export const Accounts = (given) => html`<${List} ...${given} filters=${ACCOUNT_FILTERS} columns=${ACCOUNT_COLUMNS} of="account_id" empty="No account matches the filters.">
  <${Actions}><${Action} caller=${given.caller} scope="admin" op="openAccount" label="Open an account"
    done=${({ account_id: id }) => go("accounts", id)} fields=${[{ name: "id", label: "Account", required: true }]}
    request=${({ id }) => ({ path: ACCOUNTS, body: { account_id: id } })} /></${Actions}></${List}>`;

export const Account = (given) => html`<${Item} ...${given} title="Account" told=${false}
  lead=${(account) => html`<${State} of=${account.status} /> ${amount(account.balance)}`}>${(account, path, done) => html`
      <${AccountActions} ...${{ account, path, done, caller: given.caller }} />
      <${Facts} of=${[
        ["Balance", amount(account.balance)],
        ["Available", amount(account.available)],
        ["Held for payments", amount(account.reserved)],
        ["Greatest payment", amount(account.limits.amount_max)],
        ["Opened", instant(account.created_at)],
        ["Version", account.version],
      ]} />
      <${Forecast} path=${path} version=${account.version} />
      <h2>Journal</h2>
      <${Rows} caption="Journal" ...${given} path=${`${path}/transactions`} things="transactions"
        limit=${20} columns=${JOURNAL} of="transaction_id" empty="Nothing was moved yet." />
      <p class="buttons"><a href=${hrefOf("payments", "", { account_id: given.id })}>Payments of this account</a>
        <a href=${hrefOf("events", "", { account_id: given.id })}>Events of this account</a></p>`}</${Item}>`;

const JOURNAL = [
  instantColumn("Written", "completed_at"),
  ["Type", "type"],
  ["Amount", (row) => `${row.direction === "OUT" ? "−" : "+"}${amount(row.amount)}`, "number"],
  ["Counterparty", (row) => link("accounts", row.counterparty), "wide"],
  ["Payment", (row) => link("payments", row.payment_id), "wide"],
];

function AccountActions({ account, path, caller, done }) {
  const may = { caller, scope: "admin", account: account.account_id, refusal: `The account is ${account.status}.`, done };
  return html`<${Actions}>
    <${Action} ...${may} op="deposit" label="Deposit" allowed=${account.status === "ACTIVE"} fields=${[
      { name: "amount", label: "Amount", required: true, ...DIGITS },
      { name: "reference", label: "Reference" },
    ]} request=${({ amount: digits, reference }, idempotencyKey) => ({
      path: `${path}/deposits`, idempotencyKey, body: { amount: whole(digits), ...(reference ? { reference } : {}) } })} />
    <${Action} ...${may} op="adjust" label="Adjust" text="Corrects the balance, also downwards. The journal keeps the reason." fields=${[
      { name: "amount", label: "Amount", required: true, pattern: "-?[1-9][0-9]*" },
      { name: "reason", label: "Reason", required: true },
    ]} request=${({ amount: digits, reason }, idempotencyKey) => ({
      path: `${path}/adjustments`, idempotencyKey, body: { amount: whole(digits), reason } })} />
    <${Action} ...${may} op="changeAccount" label="Change limit" allowed=${account.status !== "CLOSED"} fields=${[
      { name: "amount", label: "Greatest payment", required: true, ...DIGITS, value: String(account.limits.amount_max) },
    ]} request=${({ amount: digits }) => ({ method: "PATCH", path, body: { limits: { amount_max: whole(digits) } } })} />
    <${Action} ...${may} op="freezeAccount" label="Freeze" danger allowed=${account.status === "ACTIVE"} text="A frozen account neither pays nor is paid."
      path="${path}/freeze" />
    <${Action} ...${may} op="unfreezeAccount" label="Unfreeze" allowed=${account.status === "FROZEN"} path="${path}/unfreeze" />
    <${Action} ...${may} op="closeAccount" label="Close" danger allowed=${account.status !== "CLOSED" && account.balance === 0}
      refusal="Only an empty account can be closed." text="A closed account stays closed." path="${path}/close" />
  </${Actions}>`;
}

function Forecast({ path, version }) {
  const found = usePoll(`${path}/forecast`, { every: FORECAST_MS, stamp: version });
  return html`<h2>The next 30 days</h2><${Shown} found=${found}>${(body) => html`
    ${body.falls_short_at && html`<p class="bad"><strong>It falls short</strong> at ${exact(body.falls_short_at)}.</p>`}
    ${body.movements.length === 0 ? html`<p class="quiet">No payment is planned.</p>` : html`
      <${Steps} label="Balance until ${body.until.slice(0, 10)}" start=${body.balance} until=${body.until}
        points=${body.movements.map(({ at, balance }) => ({ at, value: balance }))} />
      <details><summary>As a table</summary><${Table} caption="Planned movements" rows=${body.movements} of="payment_id" columns=${PLANNED} /></details>`}
    ${body.partial && html`<p class="quiet">More movements follow.</p>`}`}</${Shown}>`;
}

const PLANNED = [
  instantColumn("Instant", "at"),
  numberColumn("Amount", "amount"),
  numberColumn("Balance", "balance"),
  ["Payment", (row) => link("payments", row.payment_id), "wide"],
];
