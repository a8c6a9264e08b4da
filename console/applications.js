// Applications: the events that they follow, the subscriptions that tell them, and the keys that they ask with.

import { useState } from "./hooks.js";
import { hrefOf } from "./api.js";
import {
  Action, Actions, addressOf, exact, Facts, html, instant, instantAsked, instantColumn, instantField, instantOf, Item, late, link,
  List, Rows, State, STATUS,
} from "./parts.js";

const PAGES = { payment: "payments", task: "tasks", run: "runs", plan: "tasks", account: "accounts", operation: "operations", key: "keys", subscription: "subscriptions" };
const subject = ({ kind, id }) => (PAGES[kind] ? link(PAGES[kind], id) : html`${kind} <code>${id}</code>`);

const EVENT_FILTERS = [
  { name: "type", label: "Type" },
  { name: "subject_id", label: "About" },
  { name: "account_id", label: "Account" },
  instantField("since", "Since"),
];

const EVENT_COLUMNS = [
  ["At", (row) => link("events", row.event_id, instant(row.occurred_at))],
  ["Type", "type"],
  ["About", (row) => subject(row.subject), "wide"],
  ["By", (row) => `${row.actor.type} ${row.actor.id}`, "wide"],
];

export const Events = (given) => html`<${List} ...${given} filters=${EVENT_FILTERS}
  columns=${EVENT_COLUMNS} of="event_id" always=${{ order: "desc" }} empty="No event matches the filters." />`;

export const Event = (given) => html`<${Item} ...${given} title="Event" told=${false} every=${0}
  lead=${(event) => html`<strong>${event.type}</strong>`}>${(event) => html`<${Facts} of=${[
      ["About", subject(event.subject)],
      ["By", `${event.actor.type} ${event.actor.id}`],
      ["Occurred", exact(event.occurred_at)],
      ["Recorded", exact(event.recorded_at)],
      ["Sequence", event.sequence],
    ]} /><h2>Data</h2>`}</${Item}>`;

const KEYS = "keys";

// The form cannot give them to the new key, and a key without them would have more rights than its maker.
const RESTRICTIONS = ["account_ids", "actions", "amount_max", "amount_per_day_max", "networks", "requests_per_second"];

export function Keys(given) {
  const { caller } = given;
  const [made, setMade] = useState(null);
  return html`<${List} ...${given} columns=${KEY_COLUMNS} of="key_id" empty="No key.">
    <${Actions}><${Action} caller=${caller} scope="keys:write" op="makeKey" label="Make a key" done=${setMade}
      allowed=${!RESTRICTIONS.some((each) => caller[each])} refusal="A restricted key makes no key here."
      text="A key never has more rights than the key that makes it." fields=${[
        { name: "name", label: "Name", required: true },
        { name: "scopes", label: "Scopes", hint: "Separated by spaces", required: true, value: caller.scopes.filter((each) => each.endsWith(":read")).join(" ") },
      ]} request=${({ name, scopes }) => ({ path: KEYS, body: { name, scopes: scopes.trim().split(/\s+/) } })} /></${Actions}>
    ${made && html`<${Made} what="key" text=${made.key} />`}</${List}>`;
}

const Made = ({ what, text }) => html`<div class="made" role="status"><strong>The new ${what} is shown only now:</strong><pre tabindex="0">${text}</pre></div>`;

const KEY_COLUMNS = [
  ["Name", (row) => link("keys", row.key_id, row.name || row.key_id)],
  STATUS,
  ["Begins", (row) => html`<code>${row.prefix}</code>`, "wide"],
  ["Scopes", (row) => row.scopes.join(" "), "wide"],
  instantColumn("Last used", "last_used_at"),
  instantColumn("Expires", "expires_at", "wide"),
];

export function Key(given) {
  const { caller } = given;
  const [made, setMade] = useState(null);
  return html`<${Item} ...${given} title="Key" lead=${(key) => html`<${State} of=${key.status} /> ${key.name}`}>${(key, path, done) => {
    const may = { caller, scope: "keys:write", allowed: key.status === "ACTIVE", refusal: `The key is ${key.status}.` };
    return html`${made && html`<${Made} what="key" text=${made.key} />`}
      <${Actions}>
        <${Action} ...${may} op="rotateKey" label="Rotate" done=${(body) => { setMade(body); done(); }} text="The old key text stays valid during the overlap."
          fields=${[{ name: "overlap", label: "Overlap (seconds)", value: "3600", inputmode: "numeric", pattern: "[0-9]+", required: true }]}
          request=${({ overlap }) => ({ path: `${path}/rotate`, body: { overlap_seconds: +overlap } })} />
        <${Action} ...${may} op="revokeKey" label="Revoke" danger done=${done} text="Requests with this key are refused within 2 seconds."
          request=${() => ({ method: "DELETE", path })} /></${Actions}>
      <${Facts} of=${[
        ["Scopes", key.scopes.join(" ")],
        ["Accounts", key.account_ids?.join(" ") || "all"],
        ["Made", instant(key.created_at)],
        ["Made by", key.made_by || "the command line"],
        ["Last used", instant(key.last_used_at)],
        ["Expires", instant(key.expires_at)],
      ]} />`;
  }}</${Item}>`;
}

const SUBSCRIPTIONS = "subscriptions";
const typesOf = (text) => text.trim().split(/[\s,]+/);
const TYPES = { name: "types", label: "Types", hint: "Such as payment.*, separated by spaces", required: true };

export function Subscriptions(given) {
  const { caller } = given;
  const [made, setMade] = useState(null);
  return html`<${List} ...${given} columns=${SUBSCRIPTION_COLUMNS} of="subscription_id" empty="No subscription.">
    <${Actions}><${Action} caller=${caller} scope="subscriptions:write" op="makeSubscription" label="Subscribe" done=${setMade}
      text="From now on each event that fits is sent to the address, signed and retried." fields=${[
        { name: "url", label: "Address", type: "url", required: true },
        { ...TYPES, value: "payment.*" },
        { name: "account", label: "Only about account" },
        { name: "tag", label: "Only tasks with the tag" },
        { name: "order", label: "Order", options: ["by subject", "none"], value: "by subject" },
        { name: "description", label: "Description" },
      ]} request=${({ url, types, account, tag, order, description }) => ({ path: SUBSCRIPTIONS, body: {
        target: { type: "webhook", url }, types: typesOf(types), ordered: order !== "none",
        filter: { ...(account && { account_id: account }), ...(tag && { tag }) }, ...(description && { description }),
      } })} /></${Actions}>
    ${made && html`<${Made} what="secret" text=${made.secret} />`}</${List}>`;
}

const SUBSCRIPTION_COLUMNS = [
  ["Subscription", (row) => link("subscriptions", row.subscription_id)],
  STATUS,
  ["Types", (row) => row.types.join(" ")],
  ["Address", (row) => addressOf(row.target), "wide address"],
  ["Description", "description", "wide"],
];

export function Subscription(given) {
  const { id, query, caller } = given;
  const [made, setMade] = useState(null);
  return html`<${Item} ...${given} title="Subscription" lead=${({ status, reason }) => html`<${State} of=${status} /> ${reason}`}>${(subscription, path, done) => html`
      ${made && html`<${Made} what="secret" text=${made.secret} />`}
      <${SubscriptionActions} ...${{ subscription, path, caller, setMade, done }} />
      <${Facts} of=${[
        ["Types", subscription.types.join(" ")],
        ["Address", addressOf(subscription.target)],
        ...Object.entries(subscription.filter).map(([name, value]) => [`Only ${name}`, JSON.stringify(value)]),
        ["Order", subscription.ordered ? "by subject" : "none"],
        ["Description", subscription.description],
        ["Made", instant(subscription.created_at)],
        ["Paused", instant(subscription.paused_at)],
      ]} />
      <h2>Deliveries</h2>
      <p class="buttons">${["", "DEAD"].map((status) => html`<a class="button" href=${hrefOf("subscriptions", id, { status })}
        aria-current=${status === (query.status || "") ? "page" : null}>${status || "All"}</a>`)}</p>
      <${Rows} caption="Deliveries" page="subscriptions" id=${id} query=${query} always=${{ status: query.status }} path=${`${path}/deliveries`}
        things="deliveries" columns=${DELIVERIES} of="run_id" empty="Nothing was sent." />`}</${Item}>`;
}

const DELIVERIES = [
  instantColumn("Planned", "planned_at"),
  STATUS,
  ["Event", (row) => (row.event_id ? link("events", row.event_id) : "a test")],
  ["Attempts", (row) => row.attempts.length, "number wide"],
  ["Late", late, "number wide"],
  ["Error", (row) => row.attempts.at(-1)?.error || row.reason || "–", "wide"],
];

function SubscriptionActions({ subscription, path, caller, setMade, done }) {
  const { status } = subscription;
  const may = { caller, scope: "subscriptions:write", allowed: status !== "ENDED", refusal: `The subscription is ${status}.`, done };
  const step = (label, op, name, rest) => html`<${Action} ...${may} label=${label} op=${op} path="${path}/${name}" ...${rest} />`;
  return html`<${Actions}>
    ${step("Pause", "pauseSubscription", "pause", { allowed: status === "ACTIVE" })}
    ${step("Resume", "resumeSubscription", "resume", { allowed: status === "PAUSED", text: "Events of the pause follow." })}
    ${step("Send a test", "testSubscription", "test", { text: "An event of the type subscription.test." })}
    ${step("Rotate secret", "rotateSubscriptionSecret", "rotate", { done: setMade, text: "The old secret signs for another day." })}
    <${Action} ...${may} op="changeSubscription" label="Change types" fields=${[{ ...TYPES, value: subscription.types.join(" ") }]}
      request=${({ types }) => ({ method: "PATCH", path, body: { types: typesOf(types) } })} />
    <${Action} ...${may} op="replaySubscription" label="Replay" text="Sends events of the past that were not delivered." fields=${[
      instantAsked("since", "Since"),
      { name: "failed", label: "Which", options: ["all", "only failed"], value: "all" },
    ]} request=${({ since, failed }) => ({ path: `${path}/replay`, body: { since: instantOf(since), only_failed: failed !== "all" } })} />
    <${Action} ...${may} op="endSubscription" label="Delete" danger text="For good." request=${() => ({ method: "DELETE", path })} /></${Actions}>`;
}
