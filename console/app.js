// The frame around the pages: sign-in, navigation, search, keyboard.

import { render } from "./preact.js";
import { useEffect, useRef, useState } from "./hooks.js";
import { go, hrefOf, routeOf, send, session, useRoute } from "./api.js";
import { Field, html, lacks, Loading, pageOf, Trouble } from "./parts.js";
import { Event, Events, Key, Keys, Subscription, Subscriptions } from "./applications.js";
import { Account, Accounts, Payment, Payments } from "./money.js";
import { Dead, Destinations, FlowKey, FlowKeys, Operation, Operations } from "./operating.js";
import { Now, Reconciliation, Reconciliations, Switch, Switches } from "./service.js";
import { New, Run, Runs, Task, Tasks } from "./tasks.js";

// Each page by its name in the address: title, scope and operation that it reads with, list and item.
const PAGES = {
  now: { title: "Now", list: Now },
  payments: { title: "Payments", scope: "payments:read", op: "listPayments", list: Payments, item: Payment },
  tasks: { title: "Tasks", scope: "tasks:read", op: "listTasks", list: Tasks, item: Task },
  runs: { title: "Runs", scope: "tasks:read", op: "listAllRuns", list: Runs, item: Run },
  accounts: { title: "Accounts", scope: "accounts:read", op: "listAccounts", list: Accounts, item: Account },
  events: { title: "Events", scope: "events:read", op: "listEvents", list: Events, item: Event },
  subscriptions: { title: "Subscriptions", scope: "events:read", op: "listSubscriptions", list: Subscriptions, item: Subscription },
  dead: { title: "Dead letters", scope: "tasks:read", op: "listTasks", list: Dead },
  operations: { title: "Operations", scope: "tasks:read", op: "listOperations", list: Operations, item: Operation },
  "flow-keys": { title: "Flow keys", scope: "tasks:read", op: "listFlowKeys", list: FlowKeys, item: FlowKey },
  destinations: { title: "Destinations", scope: "tasks:read", op: "listDestinations", list: Destinations },
  switches: { title: "Switches", scope: "ops", op: "listSwitches", list: Switches, item: Switch },
  reconciliations: { title: "Reconciliations", scope: "ops", op: "listReconciliations", list: Reconciliations, item: Reconciliation },
  keys: { title: "Keys", scope: "keys:read", op: "listKeys", list: Keys, item: Key },
  new: { title: "New", list: New },
};
const WHOAMI = "whoami";
const AGAIN_MS = 5_000;
// Timers count no further.
const TIMER_MS_MAX = 2 ** 31;
const KEYS = [["/", "search"], ["j k", "next and previous row"], ["Enter", "open the row"], ["n", "new payment or task"], ["?", "this help"], ["Esc", "close"]];

function SignIn({ enter, ended }) {
  const [key, setKey] = useState("");
  const [tenant, setTenant] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  async function submit(event) {
    event.preventDefault();
    session.begin(key.trim(), tenant.trim());
    setBusy(true);
    try {
      enter((await send("GET", WHOAMI)).body);
    } catch (error) {
      session.end();
      setProblem(error);
    } finally {
      setBusy(false);
    }
  }
  return html`<main class="sign-in"><h1>Postdate</h1>
    <p>The console shows and changes what your key or token may see and change. It stays in this tab.</p>
    ${problem ? html`<${Trouble} problem=${problem} />` : ended && html`<p class="trouble" role="alert">The session ended: the key or token expired, or was revoked.</p>`}
    <form onSubmit=${submit}>
      <${Field} name="key" label="API key or token" hint="A token is the ID token that your OpenID Connect issuer gives." type="password" required value=${key} set=${setKey} autofocus />
      <${Field} name="tenant" label="Tenant" hint="Only for an operator: the tenant to act for." value=${tenant} set=${setTenant} />
      <p class="buttons"><button class="main" disabled=${busy}>${busy ? "Signing in …" : "Sign in"}</button></p>
    </form></main>`;
}

function Search() {
  const submit = (event) => {
    event.preventDefault();
    const id = event.target.elements.id.value.trim();
    if (!id) return;
    event.target.reset();
    go(pageOf(id), id);
  };
  return html`<form class="search" role="search" aria-label="By id" onSubmit=${submit}>
    <label class="unseen" for="search">Open by id</label>
    <input id="search" name="id" type="search" placeholder="Open by id  ( / )" autocomplete="off" spellcheck="false" /></form>`;
}

const open = (caller) => Object.entries(PAGES).filter(([, { scope, op }]) => !scope || !lacks(caller, scope, op));
const FIRST = "now";

function Help({ close }) {
  const dialog = useRef();
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} aria-labelledby="help" onClose=${close}><h2 id="help">Keyboard</h2>
    <dl class="facts">${KEYS.map(([key, does]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${does}</dd></div>`)}</dl>
    <p class="buttons"><button onClick=${close}>Close</button></p></dialog>`;
}

function useKeyboard(help) {
  useEffect(() => {
    const pressed = (event) => {
      const typing = event.target.closest("input, select, textarea, dialog");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") document.getElementById("search").focus();
      else if (event.key === "?") help();
      else if (event.key === "n") go("new");
      else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function step(by) {
  const rows = [...document.querySelectorAll("[data-row] a")];
  const at = rows.indexOf(document.activeElement);
  rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)]?.focus();
}

function Page({ route, caller }) {
  const main = useRef();
  const page = PAGES[route.page];
  const view = page && (route.id ? page.item : page.list);
  useEffect(() => {
    document.title = page ? `${route.id || page.title} · Postdate` : "Postdate";
    main.current.querySelector("h1")?.focus();
  }, [route.page, route.id]);
  return html`<main id="main" ref=${main}>${view
    ? html`<${view} key=${`${route.page}/${route.id}`} title=${page.title} ...${route} caller=${caller} />`
    : html`<h1 tabindex="-1">No such page</h1><p><a href=${hrefOf(FIRST)}>To the first page</a></p>`}</main>`;
}

function Console() {
  const route = useRoute();
  const [caller, setCaller] = useState(null);
  const [known, setKnown] = useState(!session.key);
  const [help, setHelp] = useState(false);
  const [ended, setEnded] = useState(null);
  const ask = () => send("GET", WHOAMI).then(({ body }) => setCaller(body), () => {});
  const leave = (refusal) => {
    session.end();
    setCaller(null);
    setEnded(refusal);
  };
  useEffect(() => {
    addEventListener("unauthenticated", leave);
    if (session.key) ask().finally(() => setKnown(true));
    return () => removeEventListener("unauthenticated", leave);
  }, []);
  // The API decides when a session ends, because the clock of this machine may be wrong.
  useEffect(() => {
    const left = Date.parse(caller?.expires_at) - Date.now();
    if (!(left < TIMER_MS_MAX)) return undefined;
    const timer = setTimeout(ask, Math.max(left, AGAIN_MS));
    return () => clearTimeout(timer);
  }, [caller]);
  useEffect(() => {
    if (caller && !routeOf(location.hash).page) location.replace(hrefOf(FIRST));
  }, [caller, route.page]);
  useKeyboard(() => setHelp(true));
  if (!known) return html`<main><${Loading} /></main>`;
  if (!caller) return html`<${SignIn} enter=${setCaller} ended=${ended} />`;
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.querySelector("main h1").focus(); }}>Skip to the page</a>
    <header>
      <strong class="name">Postdate</strong>
      <nav aria-label="Pages of the console">${open(caller).map(([name, { title }]) => html`
        <a href=${hrefOf(name)} aria-current=${name === route.page ? "page" : null}>${title}</a>`)}</nav>
      <${Search} />
      <span class="who"><span title=${caller.scopes.join(" ")}>${caller.tenant} · ${caller.key_id}</span>
        <button class="small" onClick=${() => setHelp(true)} aria-label="Keyboard help">?</button>
        <button class="small" onClick=${() => leave(null)}>Sign out</button></span>
    </header>
    <${Page} ...${{ route, caller }} />
    ${help && html`<${Help} close=${() => setHelp(false)} />`}`;
}

render(html`<${Console} />`, document.getElementById("app"));
