// New: a payment, a task that runs once, a task that recurs with a preview of its plan. The request is shown as it is typed.

import { useState } from "./hooks.js";
import { curl, send, valueOf, whole } from "./api.js";
import { attempt, Command, Field, go, hrefOf, html, Shown, Trouble } from "./parts.js";
import { Preview, usePreview } from "./tasks.js";

const instantOf = (text) => new Date(`${text}Z`).toISOString();
const AT = { name: "at", label: "Instant (UTC)", type: "datetime-local", step: 1, required: true };
const TARGET = [
  { name: "type", label: "Target", options: ["webhook", "sqs"], value: "webhook" },
  { name: "address", label: "Address", hint: "The URL of a webhook or of a queue", required: true },
  { name: "payload", label: "Payload (JSON)", rows: 4, value: "{}" },
  { name: "name", label: "Name" },
];
const targetOf = ({ type, address }) => (type === "sqs" ? { type, queue_url: address } : { type, url: address });
const taskOf = (given) => ({ target: targetOf(given), payload: valueOf(given.payload), ...(given.name ? { name: given.name } : {}) });

// Each kind by its name: title, scope, fields, the request that the fields make, and the page of what was made.
const KINDS = {
  payment: {
    title: "Payment", scope: "payments:write", made: ({ payment_id: id }) => ["payments", id],
    fields: [
      { name: "from", label: "From account", required: true },
      { name: "to", label: "To account", required: true },
      { name: "amount", label: "Amount", required: true, inputmode: "numeric", pattern: "[1-9][0-9]*" },
      AT,
      { name: "funding", label: "Funding", options: ["reserve", "at_execution"], value: "reserve" },
      { name: "description", label: "Description" },
    ],
    request: ({ from, to, amount, at, funding, description }) => ({
      path: "api/v1/payments/schedule",
      body: {
        from_account_id: from, to_account_id: to, amount: whole(amount), scheduled_time: instantOf(at), funding,
        ...(description ? { description } : {}),
      },
    }),
  },
  task: {
    title: "Task", scope: "tasks:write", made: ({ task_id: id }) => ["tasks", id],
    fields: [AT, ...TARGET],
    request: (given) => ({ path: "api/v1/tasks", body: { run_at: instantOf(given.at), ...taskOf(given) } }),
  },
  cron: {
    title: "Cron", scope: "tasks:write", made: ({ task_id: id }) => ["tasks", id],
    fields: [
      { name: "cron", label: "Cron", hint: "Minute, hour, day of month, month, day of week", required: true, value: "30 2 * * *" },
      { name: "timezone", label: "Time zone", required: true, value: "Europe/Berlin" },
      ...TARGET,
    ],
    request: (given) => ({ path: "api/v1/tasks", body: { cron: given.cron, timezone: given.timezone, ...taskOf(given) } }),
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
  const [values, setValues] = useState(() => Object.fromEntries(kind.fields.map((field) => [field.name, field.value || ""])));
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [idempotencyKey, setIdempotencyKey] = useState(() => crypto.randomUUID());
  const may = caller.scopes.includes(kind.scope);
  const asked = () => ({ ...kind.request(values), idempotencyKey });
  const set = (name) => (value) => {
    setValues((known) => ({ ...known, [name]: value }));
    setIdempotencyKey(crypto.randomUUID());
  };
  async function submit(event) {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const { path, ...given } = asked();
      go(...kind.made((await send("POST", path, given)).body));
    } catch (error) {
      setProblem(error.errors ? error : { message: error.message, errors: [] });
      setBusy(false);
    }
  }
  const shown = attempt(asked);
  return html`<div class="two"><form onSubmit=${submit}>
      ${kind.fields.map((field) => html`<${Field} ...${field} value=${values[field.name]} set=${set(field.name)} />`)}
      ${problem && html`<${Trouble} problem=${problem} />`}
      <p class="buttons"><button class="main" disabled=${!may || busy} title=${may ? "" : `This key lacks the scope ${kind.scope}.`}>Register</button></p>
    </form>
    <div>${"cron" in values && html`<h2>Next instants</h2><${Previewed} cron=${values.cron} timezone=${values.timezone} />`}
      ${shown && html`<${Command} text=${curl("POST", shown.path, shown)} />`}</div></div>`;
}

function Previewed({ cron, timezone }) {
  const found = usePreview({ cron, timezone, count: 8 });
  return html`<${Shown} found=${found}>${(body) => html`<${Preview} body=${body} />`}</${Shown}>`;
}
