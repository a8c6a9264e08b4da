// Requests to the API with the key of this tab, polling, and the console's own addresses. Nothing else sends a request.

import { useCallback, useEffect, useRef, useState } from "./hooks.js";

const BASE = new URL("../api/v1/", import.meta.url).href;
const KEY = "postdate.key";
const TENANT = "postdate.tenant";
const POLL_MS = 2_000;
const POLL_MS_MAX = 60_000;

export class Problem extends Error {
  constructor(status, told) {
    super(told.detail || told.message || `The API answered ${status}.`);
    Object.assign(this, { status, code: told.code || "", requestId: told.request_id || "", errors: told.errors || [] });
  }
}

// The key lives in this tab only: another tab, or this one after it was closed, asks for it again.
export const session = {
  get key() { return sessionStorage.getItem(KEY) || ""; },
  get tenant() { return sessionStorage.getItem(TENANT) || ""; },
  begin(key, tenant) {
    sessionStorage.setItem(KEY, key);
    if (tenant) sessionStorage.setItem(TENANT, tenant);
    else sessionStorage.removeItem(TENANT);
  },
  end() {
    sessionStorage.removeItem(KEY);
    sessionStorage.removeItem(TENANT);
  },
};

// A whole number that a double cannot hold stays exact as a BigInt.
const exact = (_, value, { source } = {}) =>
  typeof value === "number" && source && /^-?\d+$/.test(source) && !Number.isSafeInteger(value) ? BigInt(source) : value;

export const textOf = (body, indent) =>
  JSON.stringify(body, (_, value) => (typeof value === "bigint" ? JSON.rawJSON(String(value)) : value), indent);

export const valueOf = (text) => JSON.parse(text, exact);

// Digits of an amount go into the request as they were typed.
export const whole = (digits) => JSON.rawJSON(digits);

export function pathOf(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

function headersOf({ body, idempotencyKey, version }) {
  return {
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(session.tenant ? { "Postdate-Tenant": session.tenant } : {}),
    ...(idempotencyKey ? { "Idempotency-Key": idempotencyKey } : {}),
    ...(version === undefined ? {} : { "If-Match": `"${version}"` }),
  };
}

// Answers { status, body, etag }. With `known`, an ETag, the status may be 304 and the body null.
export async function send(method, path, { query, known, ...given } = {}) {
  const headers = { Authorization: `Bearer ${session.key}`, ...headersOf(given) };
  if (known) headers["If-None-Match"] = known;
  const answer = await fetch(BASE + pathOf(path, query), {
    method,
    headers,
    body: given.body === undefined ? undefined : textOf(given.body),
    cache: "no-store",
  }).catch(() => { throw new Problem(0, { detail: "The API cannot be reached." }); });
  const etag = answer.headers.get("etag");
  if (answer.status === 304) return { status: 304, body: null, etag };
  const text = await answer.text();
  const body = attempt(() => valueOf(text));
  if (answer.ok) return { status: answer.status, body, etag };
  if (answer.status === 401) dispatchEvent(new Event("unauthenticated"));
  throw new Problem(answer.status, body || {});
}

export function attempt(make) {
  try {
    return make();
  } catch {
    return null;
  }
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// The same request as a command. The key stays in a variable of the reader's shell.
export function curl(method, path, { query, ...given } = {}) {
  const lines = [`curl -X ${method} ${quoted(BASE + pathOf(path, query))}`, '-H "Authorization: Bearer $POSTDATE_KEY"'];
  for (const [name, value] of Object.entries(headersOf(given))) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (given.body !== undefined) lines.push(`-d ${quoted(textOf(given.body))}`);
  return lines.join(" \\\n  ");
}

const PYTHON = { true: "True", false: "False", null: "None" };

// The same request as a call of the Python client. Texts and numbers of JSON mean the same in Python.
export function python(call, { body, idempotencyKey }) {
  const text = (value) => textOf(value).replace(/"(?:\\.|[^"\\])*"|true|false|null/g, (word) => PYTHON[word] || word);
  const tenant = session.tenant && `, tenant=${text(session.tenant)}`;
  return ["import os", "from postdate_client import Client", "",
    `client = Client(${text(new URL("../..", BASE).href)}, os.environ["POSTDATE_KEY"]${tenant})`,
    `client.${call}(`, ...Object.entries({ ...body, idempotency_key: idempotencyKey }).map(([name, value]) => `    ${name}=${text(value)},`), ")"].join("\n");
}

// Asks for `path` again and again while the tab is seen and `until(body)` is false. A failure doubles the pause. If `every` is
// 0, one answer is enough. Another `stamp` asks anew, and what was known is shown meanwhile. `whole` asks for the body each
// time: the version of some items says nothing of their counts.
export function usePoll(path, { method = "GET", query, body: sent, every = POLL_MS, until = () => false, stamp, whole = false } = {}) {
  const key = path && JSON.stringify([path, query, sent]);
  const [found, setFound] = useState({ key });
  const again = useRef(() => {});
  useEffect(() => {
    if (!path) return undefined;
    let timer, ended = false, etag = null, body, failed = false, pause = every, asking = false;
    const settled = () => body && !failed && (!every || until(body));
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
      if (every && !document.hidden && !settled()) timer = setTimeout(ask, pause);
    }
    const seen = () => (document.hidden ? clearTimeout(timer) : settled() || ask());
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

export const under = (path, id) => `${path}/${encodeURIComponent(id)}`;

// The address is #/<page>/<id>?<query>.
export function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/").map(decodeURIComponent);
  return { page, id: rest.join("/"), query: Object.fromEntries(new URLSearchParams(query)) };
}

export function hrefOf(page, id = "", query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  const path = id ? under(page, id) : page;
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
