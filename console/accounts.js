// Accounts: the list, and one account with its journal and what is to come.

import { whole } from "./api.js";
import { Action, amount, Facts, html, Instant, Raw, Shown, State, usePoll } from "./parts.js";
import { link, List, money, Rows, Table } from "./lists.js";
import { Steps } from "./charts.js";

const PATH = "api/v1/accounts";
const FORECAST_MS = 30_000;

const FILTERS = [
  { name: "prefix", label: "Begins with" },
  { name: "status", label: "Status", options: ["", "ACTIVE", "FROZEN", "CLOSED"] },
];

const COLUMNS = [
  ["Account", (row) => link("accounts", row.account_id)],
  ["Status", (row) => html`<${State} of=${row.status} />`],
  ["Balance", money("balance"), "number"],
  ["Available", money("available"), "number wide"],
  ["Held", money("reserved"), "number wide"],
];

export const Accounts = ({ query }) => html`<${List} title="Accounts" page="accounts" path=${PATH} things="accounts"
  filters=${FILTERS} columns=${COLUMNS} of=${(row) => row.account_id} query=${query} empty="No account fits." />`;

export function Account({ id, query, caller }) {
  const path = `${PATH}/${encodeURIComponent(id)}`;
  const found = usePoll(path);
  return html`<h1 tabindex="-1">Account</h1><p><code>${id}</code></p>
    <${Shown} found=${found}>${(account) => html`
      <p role="status" class="lead"><${State} of=${account.status} /> ${amount(account.balance)}</p>
      <${Actions} ...${{ account, path, caller, done: found.again }} />
      <${Facts} of=${[
        ["Balance", amount(account.balance)],
        ["Available", amount(account.available)],
        ["Held for payments", amount(account.reserved)],
        ["Greatest payment", amount(account.limits.amount_max)],
        ["Opened", html`<${Instant} at=${account.created_at} />`],
        ["Version", account.version],
      ]} />
      <${Forecast} path=${path} version=${account.version} />
      <h2>Journal</h2>
      <${Rows} caption="Journal" page="accounts" id=${id} query=${query} path=${`${path}/transactions`} things="transactions"
        limit=${20} columns=${JOURNAL} of=${(row) => row.transaction_id} empty="Nothing was moved yet." />
      <p><a href=${`#/payments?account_id=${encodeURIComponent(id)}`}>Payments of this account</a></p>
      <${Raw} body=${account} />`}</${Shown}>`;
}

const JOURNAL = [
  ["Written", (row) => html`<${Instant} at=${row.completed_at} />`],
  ["Type", (row) => row.type],
  ["Amount", (row) => `${row.direction === "OUT" ? "−" : "+"}${amount(row.amount)}`, "number"],
  ["Counterparty", (row) => link("accounts", row.counterparty), "wide"],
  ["Payment", (row) => link("payments", row.payment_id), "wide"],
];

function Actions({ account, path, caller, done }) {
  const may = { caller, scope: "admin", refusal: `The account is ${account.status}.`, done };
  return html`<p class="buttons" role="group" aria-label="Actions">
    <${Action} ...${may} label="Deposit" allowed=${account.status === "ACTIVE"} fields=${[
      { name: "amount", label: "Amount", required: true, inputmode: "numeric", pattern: "[1-9][0-9]*" },
      { name: "reference", label: "Reference" },
    ]} request=${({ amount: digits, reference }, idempotencyKey) => ({
      method: "POST", path: `${path}/deposits`, idempotencyKey, body: { amount: whole(digits), ...(reference ? { reference } : {}) } })} />
    <${Action} ...${may} label="Freeze" danger allowed=${account.status === "ACTIVE"} text="A frozen account neither pays nor is paid."
      request=${() => ({ method: "POST", path: `${path}/freeze` })} />
    <${Action} ...${may} label="Unfreeze" allowed=${account.status === "FROZEN"} request=${() => ({ method: "POST", path: `${path}/unfreeze` })} />
    <${Action} ...${may} label="Close" danger allowed=${account.status !== "CLOSED" && account.balance === 0}
      refusal="Only an empty account can be closed." text="A closed account stays closed." request=${() => ({ method: "POST", path: `${path}/close` })} />
  </p>`;
}

function Forecast({ path, version }) {
  const found = usePoll(`${path}/forecast`, { every: FORECAST_MS, stamp: version });
  return html`<h2>The next 30 days</h2><${Shown} found=${found}>${(body) => html`
    ${body.falls_short_at && html`<p class="bad"><strong>It falls short</strong> at <${Instant} at=${body.falls_short_at} precise />.</p>`}
    ${body.movements.length === 0 ? html`<p class="quiet">No payment is planned.</p>` : html`
      <${Steps} label="Balance until ${body.until.slice(0, 10)}" start=${body.balance} until=${body.until}
        points=${body.movements.map(({ at, balance }) => ({ at, value: balance }))} />
      <details><summary>As a table</summary><${Table} caption="Planned movements" rows=${body.movements} of=${(row) => row.payment_id} columns=${PLANNED} /></details>`}
    ${body.partial && html`<p class="quiet">More movements follow.</p>`}`}</${Shown}>`;
}

const PLANNED = [
  ["Instant", (row) => html`<${Instant} at=${row.at} />`],
  ["Amount", money("amount"), "number"],
  ["Balance", money("balance"), "number"],
  ["Payment", (row) => link("payments", row.payment_id), "wide"],
];
