// Events: what changed, when, and by whom.

import { Facts, html, Instant, Raw, Shown, usePoll } from "./parts.js";
import { link, List } from "./lists.js";

const PATH = "api/v1/events";
const PAGES = { payment: "payments", task: "tasks", run: "runs", plan: "tasks", account: "accounts", operation: "operations", key: "keys" };
const subject = ({ kind, id }) => (PAGES[kind] ? link(PAGES[kind], id) : html`${kind} <code>${id}</code>`);

const FILTERS = [
  { name: "type", label: "Type" },
  { name: "subject_id", label: "About" },
  { name: "account_id", label: "Account" },
  { name: "since", label: "Since (UTC)", type: "datetime-local", step: 1 },
];

const COLUMNS = [
  ["At", (row) => link("events", row.event_id, html`<${Instant} at=${row.occurred_at} />`)],
  ["Type", (row) => row.type],
  ["About", (row) => subject(row.subject), "wide"],
  ["By", (row) => `${row.actor.type} ${row.actor.id}`, "wide"],
];

export const Events = ({ query }) => html`<${List} title="Events" page="events" path=${PATH} things="events" filters=${FILTERS}
  columns=${COLUMNS} of=${(row) => row.event_id} query=${query} always=${{ order: "desc" }} empty="No event fits." />`;

export function Event({ id }) {
  const found = usePoll(`${PATH}/${encodeURIComponent(id)}`, { every: 0 });
  return html`<h1 tabindex="-1">Event</h1><p><code>${id}</code></p><${Shown} found=${found}>${(event) => html`
    <p class="lead"><strong>${event.type}</strong></p>
    <${Facts} of=${[
      ["About", subject(event.subject)],
      ["By", `${event.actor.type} ${event.actor.id}`],
      ["Occurred", html`<${Instant} at=${event.occurred_at} precise />`],
      ["Recorded", html`<${Instant} at=${event.recorded_at} precise />`],
      ["Sequence", event.sequence],
    ]} /><h2>Data</h2><${Raw} body=${event} />`}</${Shown}>`;
}
