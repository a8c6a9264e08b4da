// Keys of the tenant: make, rotate, revoke.

import { useState } from "./hooks.js";
import { Action, Facts, html, Instant, Raw, Shown, State, usePoll } from "./parts.js";
import { link, List } from "./lists.js";

const KEYS = "api/v1/keys";

export function Keys({ query, caller }) {
  const [made, setMade] = useState(null);
  return html`<${List} title="Keys" page="keys" path=${KEYS} things="keys" filters=${[]} columns=${KEY_COLUMNS}
    of=${(row) => row.key_id} query=${query} empty="No key.">
    <p class="buttons" role="group" aria-label="Actions"><${Action} caller=${caller} scope="keys:write" label="Make a key" done=${setMade}
      text="A key never has more rights than the key that makes it." fields=${[
        { name: "name", label: "Name", required: true },
        { name: "scopes", label: "Scopes", hint: "Separated by spaces", required: true, value: caller.scopes.filter((each) => each.endsWith(":read")).join(" ") },
      ]} request=${({ name, scopes }) => ({ method: "POST", path: KEYS, body: { name, scopes: scopes.trim().split(/\s+/) } })} /></p>
    ${made && html`<${Made} made=${made} />`}</${List}>`;
}

const Made = ({ made }) => html`<div class="made" role="status"><strong>The new key is shown only now:</strong><pre tabindex="0">${made.key}</pre></div>`;

const KEY_COLUMNS = [
  ["Name", (row) => link("keys", row.key_id, row.name || row.key_id)],
  ["Status", (row) => html`<${State} of=${row.status} />`],
  ["Begins", (row) => html`<code>${row.prefix}</code>`, "wide"],
  ["Scopes", (row) => row.scopes.join(" "), "wide"],
  ["Last used", (row) => html`<${Instant} at=${row.last_used_at} />`],
  ["Expires", (row) => html`<${Instant} at=${row.expires_at} />`, "wide"],
];

export function Key({ id, caller }) {
  const path = `${KEYS}/${encodeURIComponent(id)}`;
  const [made, setMade] = useState(null);
  const found = usePoll(path);
  return html`<h1 tabindex="-1">Key</h1><p><code>${id}</code></p>
    ${made && html`<${Made} made=${made} />`}
    <${Shown} found=${found}>${(key) => {
      const may = { caller, scope: "keys:write", allowed: key.status === "ACTIVE", refusal: `The key is ${key.status}.` };
      return html`<p role="status" class="lead"><${State} of=${key.status} /> ${key.name}</p>
        <p class="buttons" role="group" aria-label="Actions">
          <${Action} ...${may} label="Rotate" done=${(body) => { setMade(body); found.again(); }} text="The old secret works on for the overlap."
            fields=${[{ name: "overlap", label: "Overlap (seconds)", value: "3600", inputmode: "numeric", pattern: "[0-9]+", required: true }]}
            request=${({ overlap }) => ({ method: "POST", path: `${path}/rotate`, body: { overlap_seconds: +overlap } })} />
          <${Action} ...${may} label="Revoke" danger done=${found.again} text="Requests with this key are refused within seconds."
            request=${() => ({ method: "DELETE", path })} /></p>
        <${Facts} of=${[
          ["Scopes", key.scopes.join(" ")],
          ["Accounts", key.account_ids?.join(" ") || "all"],
          ["Made", html`<${Instant} at=${key.created_at} />`],
          ["Made by", key.made_by || "the command line"],
          ["Last used", html`<${Instant} at=${key.last_used_at} />`],
          ["Expires", html`<${Instant} at=${key.expires_at} />`],
        ]} /><${Raw} body=${key} />`;
    }}</${Shown}>`;
}
