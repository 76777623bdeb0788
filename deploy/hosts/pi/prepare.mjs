// Ask the context sidecar for one text to inject: settings, request, check. Node's own modules only.
//
// Every plugin that is written in JavaScript carries its own copy of this file, so that a plugin can be copied as it is;
// a test keeps the copies equal.

import { createHash } from "node:crypto";

import { Unanswered, postForJson } from "./exchange.mjs";

const SCHEMA = "powercontext.prepared-context.v1";
const QUERY_MAX_CHARS = 8192; // RFC 1489, request contract
const DEFAULT_MAX_BYTES = 8000; // RFC 1489, request contract
const CONTENT_MAX_BYTES = 32_768; // RFC 1489, request contract: the largest max_bytes
const TIMEOUT_MAX_S = 86_400; // a timer of more than 24 days would fire at once
const SOCKET_PATH_MAX_BYTES = 107; // Linux, unix(7); where it is less, the connection fails
const DEFAULT_ASSEMBLY = {
  format: "markdown",
  sections: [{ family: "memory", limit: 6 }, { family: "experience", limit: 2 }],
  show: [],
};
const FIELDS = "content,content_bytes,schema,status";
// JSON writes at most six bytes for one byte of content; the rest of the answer is far below 1024.
const ESCAPE_FACTOR = 6;
const FRAME_BYTES = 1024;

/** Why this turn goes on without a prepared text. The message holds no token, query or content. */
export class NothingToInject extends Error {}

/**
 * The settings of one host from POWERCONTEXT_<HOST>_<NAME>, else from POWERCONTEXT_<NAME>. An empty value is none.
 *
 * CONTEXT_ASSEMBLY alone has no such fallback: a selection is configured for one host. It is kept as the configured JSON
 * text and sent as it stands; null sends no `assembly` at all. Times are in seconds, sizes in UTF-8 bytes.
 * Throws NothingToInject when there is no Scope or a value cannot be used, and names the variable, never its value; a
 * broken assembly must never turn into a request without one.
 */
export function readSettings(host, environment = process.env) {
  const setting = (name, read, otherwise, { common = true } = {}) => {
    const names = [`POWERCONTEXT_${host}_${name}`, ...(common ? [`POWERCONTEXT_${name}`] : [])];
    const variable = names.find((candidate) => environment[candidate]);
    return variable === undefined ? otherwise : read(environment[variable], variable);
  };
  const scopeId = setting("SCOPE_ID", (text) => text, null);
  if (scopeId === null) throw new NothingToInject("POWERCONTEXT_SCOPE_ID is not set");
  return {
    scopeId,
    token: setting("TOKEN", token, null),
    assembly: setting("CONTEXT_ASSEMBLY", jsonText, null, { common: false }),
    baseUrl: setting("BASE_URL", address, "http://127.0.0.1:8000"),
    unixSocket: setting("UNIX_SOCKET", socketPath, null),
    maxBytes: setting("MAX_BYTES", wholeNumber, DEFAULT_MAX_BYTES),
    requestTimeoutS: setting("REQUEST_TIMEOUT_S", seconds, 2),
    totalTimeoutS: setting("TOTAL_TIMEOUT_S", seconds, 3),
  };
}

function token(text, variable) {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new NothingToInject(`${variable} is not printable ASCII without blanks`);
}

function jsonText(text, variable) {
  try {
    JSON.parse(text);
  } catch {
    throw new NothingToInject(`${variable} is not JSON`);
  }
  return text;
}

function address(text, variable) {
  // What it holds stays unsaid: it may be a password. URL takes some blanks out without a word.
  const url = /[\x00-\x20\x7f]/.test(text) || !URL.canParse(text) ? null : new URL(text);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new NothingToInject(`${variable} must be an http or https address`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new NothingToInject(`${variable} must hold neither user, query nor fragment`);
  }
  return text;
}

function socketPath(text, variable) {
  // Of a longer one, Node takes the beginning.
  if (Buffer.byteLength(text) <= SOCKET_PATH_MAX_BYTES) return text;
  throw new NothingToInject(`${variable} is longer than the path of a socket may be`);
}

function wholeNumber(text, variable) {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new NothingToInject(`${variable} is not a whole number in decimal digits`);
}

function seconds(text, variable) {
  // Number would also take 0x10.
  const value = /^\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : NaN;
  if (value > 0 && value <= TIMEOUT_MAX_S) return value;
  throw new NothingToInject(`${variable} is not a number above 0 and at most ${TIMEOUT_MAX_S}`);
}

/**
 * The content to inject unchanged, null when there is none; settles within `totalTimeoutS`.
 *
 * A longer query is asked by its first 8192 characters. Throws NothingToInject for every failure; nothing is retried.
 */
export async function prepare(settings, query) {
  if (!query.trim()) return null;
  return checkPrepared(await post(settings, beginning(query)), settings.maxBytes);
}

/** The characters of a query that are asked about. No character takes more than two units, so the rest is cut off first. */
function beginning(query) {
  if (query.length <= QUERY_MAX_CHARS) return query;
  return Array.from(query.slice(0, 2 * QUERY_MAX_CHARS)).slice(0, QUERY_MAX_CHARS).join("");
}

/**
 * The content of an answer that keeps every rule of RFC 1489, null when it is empty.
 *
 * body: the bytes as they came. Throws NothingToInject otherwise.
 */
export function checkPrepared(body, maxBytes) {
  let answer, text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    answer = JSON.parse(text);
  } catch {
    throw new NothingToInject("the answer is not a JSON object");
  }
  const skeleton = withoutStrings(text);
  const named = answer !== null && typeof answer === "object" && Object.keys(answer).sort().join() === FIELDS;
  // One colon for each field: JSON.parse keeps the last of fields that are repeated.
  if (!named || skeleton.split(":").length - 1 !== Object.keys(answer).length) {
    throw new NothingToInject("the answer does not have exactly the four fields");
  }
  const { schema, status, content, content_bytes: size } = answer;
  // 5.0 and 5e0 are whole numbers to JSON.parse alone, and so is what it rounds to one.
  if (schema !== SCHEMA || !Number.isSafeInteger(size) || !/:-?\d+[,}]/.test(skeleton)) {
    throw new NothingToInject("the answer has an unknown schema or no whole content_bytes");
  }
  if (status === "empty" && content === null && size === 0) return null;
  if (status !== "ready" || typeof content !== "string" || content === "") {
    throw new NothingToInject("status and content of the answer do not agree");
  }
  // A lone surrogate has no UTF-8 form; Buffer would count it as the three bytes of U+FFFD.
  const bytes = Buffer.from(content, "utf8");
  if (bytes.toString("utf8") !== content) throw new NothingToInject("content holds a lone surrogate");
  if (bytes.length !== size) throw new NothingToInject("content_bytes is not the length of content");
  if (size > maxBytes) throw new NothingToInject("content is over the budget");
  return content;
}

/**
 * The one key under which a prepared text may be kept and found again within a process.
 *
 * Equal exactly when the request means the same: left-out defaults, the order of keys and of `show` make no difference;
 * no assembly is different from any assembly.
 */
export function cacheKey(settings, sessionOrTurn, query) {
  const selection = settings.assembly === null ? ["legacy"] : ["assembly", normalised(JSON.parse(settings.assembly))];
  const parts = [settings.scopeId, sessionOrTurn, beginning(query), settings.maxBytes, selection];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

function normalised(assembly) {
  if (assembly === null || typeof assembly !== "object" || Array.isArray(assembly)) return assembly;
  const whole = { ...DEFAULT_ASSEMBLY, ...assembly };
  if (Array.isArray(whole.show)) whole.show = [...whole.show].sort();
  return sortedKeys(whole);
}

function sortedKeys(value) {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sortedKeys(value[name])]));
}

/** What is left of JSON text without its strings and blanks. In valid JSON a backslash stands in strings alone. */
function withoutStrings(json) {
  return json.replace(/\\./g, "").replace(/"[^"]*"/g, "").replace(/[ \t\r\n]/g, "");
}

/** The body of a 200 answer. The assembly is the configured text itself: reading and writing it could change it. */
async function post(settings, query) {
  const fields = JSON.stringify({ scope_id: settings.scopeId, query, max_bytes: settings.maxBytes });
  const body = settings.assembly === null ? fields : `${fields.slice(0, -1)},"assembly":${settings.assembly}}`;
  const url = new URL(settings.baseUrl);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/context/prepare`;
  const headers = { "Content-Type": "application/json", "Accept": "application/json" };
  if (settings.token !== null) headers.Authorization = `Bearer ${settings.token}`;
  const limits = {
    totalS: settings.totalTimeoutS,
    eachWaitS: settings.requestTimeoutS,
    mostBytes: Math.min(settings.maxBytes, CONTENT_MAX_BYTES) * ESCAPE_FACTOR + FRAME_BYTES,
  };
  try {
    return await postForJson({ url, unixSocket: settings.unixSocket, headers, body: Buffer.from(body, "utf8") }, limits);
  } catch (failure) {
    throw failure instanceof Unanswered ? new NothingToInject(failure.message) : failure;
  }
}
