// Pieces that every page uses: routing, polling, states, amounts, instants, actions.

import { h } from "./preact.js";
import { useCallback, useEffect, useRef, useState } from "./hooks.js";
import htm from "./htm.js";
import { curl, send, textOf } from "./api.js";

export const html = htm.bind(h);
const POLL_MS = 2_000;
const POLL_MS_MAX = 60_000;

// The address is #/<page>/<id>?<query>.
export function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/").map(decodeURIComponent);
  return { page, id: rest.join("/"), query: Object.fromEntries(new URLSearchParams(query)) };
}

export function hrefOf(page, id = "", query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  const path = id ? `${page}/${encodeURIComponent(id)}` : page;
  return `#/${path}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

export const go = (...to) => { location.hash = hrefOf(...to); };

export function useRoute() {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const changed = () => setRoute(routeOf(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

// Asks for `path` again and again while the tab is seen and `until(body)` is false. A failure doubles the pause.
// Another `stamp` asks anew, and what was known is shown meanwhile. `whole` asks for the body each time: the version of some
// items says nothing of their counts.
export function usePoll(path, { method = "GET", query, body: sent, every = POLL_MS, until = () => false, stamp, whole = false } = {}) {
  const key = path && JSON.stringify([path, query, sent]);
  const [found, setFound] = useState({ key });
  const again = useRef(() => {});
  useEffect(() => {
    if (!path) return undefined;
    let timer, ended = false, etag = null, body, failed = false, pause = every, asking = false;
    async function ask() {
      clearTimeout(timer);
      if (asking || ended) return;
      asking = true;
      try {
        const answer = await send(method, path, { query, body: sent, known: etag });
        if (ended) return;
        pause = every;
        etag = whole ? null : answer.etag;
        if (answer.status !== 304) body = answer.body;
        if (answer.status !== 304 || failed) setFound({ key, body });
        failed = false;
      } catch (problem) {
        if (ended) return;
        pause = Math.min(pause * 2, POLL_MS_MAX);
        failed = true;
        setFound({ key, body, problem });
        if ([401, 403, 404, 422].includes(problem.status)) return;
      } finally {
        asking = false;
      }
      if (every && !document.hidden && !(body && until(body))) timer = setTimeout(ask, pause);
    }
    const seen = () => (document.hidden ? clearTimeout(timer) : body && until(body) ? null : ask());
    again.current = ask;
    document.addEventListener("visibilitychange", seen);
    ask();
    return () => {
      ended = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [key, stamp]);
  const { body, problem } = found.key === key ? found : {};
  return { body, problem, again: useCallback(() => again.current(), []) };
}

export const amount = (units) => (units === null || units === undefined ? "–" : BigInt(units).toLocaleString("en-US"));
const pad = (text) => text.replace("T", " ").replace(/\.\d+Z?$|Z$/, "");

// An instant that is typed has no offset, and is UTC.
export const instantOf = (text) => new Date(`${text}Z`).toISOString();

export function Instant({ at, precise = false }) {
  if (!at) return "–";
  return html`<time datetime=${at} title=${`${at} (${ago(at)})`}>${precise ? at.replace("T", " ").replace("Z", "") : pad(at)}</time>`;
}

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "always" });

export function ago(at, now = Date.now()) {
  const seconds = Math.round((Date.parse(at) - now) / 1000);
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) || UNITS[3];
  return RELATIVE.format(Math.trunc(seconds / size), unit);
}

const TONES = {
  COMPLETED: "good", SUCCEEDED: "good", SUCCESS: "good", ACTIVE: "good", DONE: "good", OPEN: "good",
  FAILED: "bad", DEAD: "bad", ABORTED: "bad", EXPIRED: "bad", MISSED: "bad",
  EXECUTING: "busy", RUNNING: "busy", RETRYING: "busy", IN_PROGRESS: "busy",
  PAUSED: "held", FROZEN: "held", STOPPED: "held", SKIPPED: "held",
};
const MARKS = { good: "✓", bad: "✕", busy: "▸", held: "‖", quiet: "○" };

// The mark and the word tell the state; the colour only repeats it.
export function State({ of, tone = TONES[of] || "quiet" }) {
  return html`<span class="state ${tone}"><span aria-hidden="true">${MARKS[tone]}</span> ${of}</span>`;
}

export function Trouble({ problem, again }) {
  const forbidden = problem.status === 403;
  return html`<div class="trouble" role="alert">
    <strong>${forbidden ? "This key may not see this." : problem.status === 404 ? "There is nothing here." : "This did not work."}</strong>
    <p>${problem.message}</p>
    ${problem.errors.length > 0 && html`<ul>${problem.errors.map((each) => html`<li><code>${each.field}</code> ${each.message}</li>`)}</ul>`}
    ${problem.requestId && html`<p class="quiet">Request <code>${problem.requestId}</code></p>`}
    ${again && !forbidden && html`<button onClick=${again}>Ask again</button>`}
  </div>`;
}

export const Loading = () => html`<p class="quiet" role="status">Loading …</p>`;

// `children` is called with the body once there is one. Trouble is shown above what was known before.
export function Shown({ found, children }) {
  return html`
    ${found.problem && html`<${Trouble} problem=${found.problem} again=${found.again} />`}
    ${found.body ? children(found.body) : !found.problem && html`<${Loading} />`}`;
}

export function Facts({ of }) {
  return html`<dl class="facts">${of.filter(Boolean).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value ?? "–"}</dd></div>`)}</dl>`;
}

export const Raw = ({ body }) => html`<details><summary>Raw answer</summary>
  <pre tabindex="0">${textOf(body, 2)}</pre></details>`;

export function Action({ label, scope, caller, allowed = true, danger = false, fields = [], request, done, ...texts }) {
  const [open, setOpen] = useState(false);
  const may = caller.scopes.includes(scope);
  const why = may ? (allowed ? "" : texts.refusal || "This state does not allow it.") : `This key lacks the scope ${scope}.`;
  return html`
    <button class=${danger ? "danger" : ""} disabled=${!may || !allowed} title=${why} onClick=${() => setOpen(true)}>${label}</button>
    ${open && html`<${Asked} ...${{ label, danger, fields, request, done, ...texts }} close=${() => setOpen(false)} />`}`;
}

function Asked({ label, danger, fields, request, done, text, close }) {
  const dialog = useRef();
  const [values, setValues] = useState(() => Object.fromEntries(fields.map((field) => [field.name, field.value || ""])));
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const before = useRef(document.activeElement);
  useEffect(() => {
    dialog.current.showModal();
    return () => before.current?.focus?.();
  }, []);
  const asked = attempt(() => request(values, idempotencyKey));
  async function confirm(event) {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const { method, path, ...given } = request(values, idempotencyKey);
      const answer = await send(method, path, given);
      close();
      done?.(answer.body);
    } catch (error) {
      setProblem(error.errors ? error : { message: error.message, errors: [] });
    } finally {
      setBusy(false);
    }
  }
  return html`<dialog ref=${dialog} aria-labelledby="asked" onClose=${close}>
    <form onSubmit=${confirm}>
      <h2 id="asked">${label}</h2>
      ${text && html`<p>${text}</p>`}
      ${fields.map((field) => html`<${Field} ...${field} value=${values[field.name]}
        set=${(value) => setValues((known) => ({ ...known, [field.name]: value }))} />`)}
      ${problem && html`<${Trouble} problem=${problem} />`}
      ${asked && html`<${Command} text=${curl(asked.method, asked.path, asked)} />`}
      <p class="buttons">
        <button type="button" onClick=${close}>Close</button>
        <button type="submit" class=${danger ? "danger" : "main"} disabled=${busy}>${busy ? "Sending …" : label}</button>
      </p>
    </form>
  </dialog>`;
}

export function attempt(make) {
  try {
    return make();
  } catch {
    return null;
  }
}

export function Field({ name, label, value, set, hint, options, type = "text", required = false, rows, ...rest }) {
  const id = `field-${name}`;
  const given = { id, name, value, required, "aria-describedby": hint ? `${id}-hint` : undefined, ...rest,
    onInput: (event) => set(event.target.value) };
  return html`<div class="field"><label for=${id}>${label}</label>
    ${options ? html`<select ...${given}>${options.map((each) => html`<option value=${each} selected=${each === value}>${each || "any"}</option>`)}</select>`
      : rows ? html`<textarea ...${given} rows=${rows} spellcheck="false"></textarea>`
      : html`<input ...${given} type=${type} autocomplete="off" />`}
    ${hint && html`<span class="quiet" id="${id}-hint">${hint}</span>`}</div>`;
}

export function Command({ text }) {
  const [copied, setCopied] = useState(false);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true), () => {});
  return html`<figure class="command"><figcaption>The same as a command <button type="button" class="small" onClick=${copy}>${copied ? "Copied" : "Copy"}</button></figcaption>
    <pre tabindex="0">${text}</pre></figure>`;
}
