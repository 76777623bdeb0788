// Ask the context sidecar for one text to inject: settings, request, check. Node's own modules only.
//
// Every plugin that is written in JavaScript carries its own copy of this file, so that a plugin can be copied as it is;
// a test keeps the copies equal.

import { createHash } from "node:crypto";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

const SCHEMA = "powercontext.prepared-context.v1";
const QUERY_MAX_CHARS = 8192; // RFC 1489, request contract
const DEFAULT_MAX_BYTES = 8000; // RFC 1489, request contract
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
 * The settings of one host from POWERCONTEXT_<HOST>_<NAME>, else from POWERCONTEXT_<NAME>.
 *
 * CONTEXT_ASSEMBLY alone has no such fallback: a selection is configured for one host. It is kept as the configured JSON
 * text and sent as it stands; null sends no `assembly` at all. Times are in seconds, sizes in UTF-8 bytes.
 * Throws NothingToInject when there is no Scope or a value cannot be used; a broken assembly must never turn into a
 * request without one.
 */
export function readSettings(host, environment = process.env) {
  const setting = (name) => environment[`POWERCONTEXT_${host}_${name}`] || environment[`POWERCONTEXT_${name}`] || null;
  const number = (name, otherwise) => {
    const value = Number(setting(name) ?? otherwise);
    if (!(value > 0)) throw new NothingToInject(`POWERCONTEXT_${name} is not a number above 0`);
    return value;
  };
  const scopeId = setting("SCOPE_ID");
  if (scopeId === null) throw new NothingToInject("POWERCONTEXT_SCOPE_ID is not set");
  const token = setting("TOKEN");
  if (token !== null && !/^[\x21-\x7e]+$/.test(token)) {
    throw new NothingToInject("POWERCONTEXT_TOKEN is not printable ASCII without blanks");
  }
  const assembly = environment[`POWERCONTEXT_${host}_CONTEXT_ASSEMBLY`] || null;
  if (assembly !== null) {
    try {
      JSON.parse(assembly);
    } catch {
      throw new NothingToInject(`POWERCONTEXT_${host}_CONTEXT_ASSEMBLY is not JSON`);
    }
  }
  return {
    scopeId,
    token,
    assembly,
    baseUrl: setting("BASE_URL") ?? "http://127.0.0.1:8000",
    unixSocket: setting("UNIX_SOCKET"),
    maxBytes: number("MAX_BYTES", DEFAULT_MAX_BYTES),
    requestTimeoutS: number("REQUEST_TIMEOUT_S", 2),
    totalTimeoutS: number("TOTAL_TIMEOUT_S", 3),
  };
}

/**
 * The content to inject unchanged, null when there is none; settles within `totalTimeoutS`.
 *
 * A longer query is asked by its first 8192 characters. Throws NothingToInject for every failure; nothing is retried.
 */
export async function prepare(settings, query) {
  if (!query.trim()) return null;
  const asked = query.length > QUERY_MAX_CHARS ? Array.from(query).slice(0, QUERY_MAX_CHARS).join("") : query;
  return checkPrepared(await post(settings, asked), settings.maxBytes);
}

/**
 * The content of an answer that keeps every rule of RFC 1489, null when it is empty.
 *
 * body: the bytes as they came. Throws NothingToInject otherwise.
 */
export function checkPrepared(body, maxBytes) {
  let answer;
  try {
    answer = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    throw new NothingToInject("the answer is not a JSON object");
  }
  if (answer === null || typeof answer !== "object" || Object.keys(answer).sort().join() !== FIELDS) {
    throw new NothingToInject("the answer does not have exactly the four fields");
  }
  const { schema, status, content, content_bytes: size } = answer;
  if (schema !== SCHEMA || !Number.isSafeInteger(size)) {
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
  const parts = [settings.scopeId, sessionOrTurn, query, settings.maxBytes, selection];
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

/** The body of a 200 answer. The assembly is the configured text itself: reading and writing it could change it. */
function post(settings, query) {
  const fields = JSON.stringify({ scope_id: settings.scopeId, query, max_bytes: settings.maxBytes });
  const body = settings.assembly === null ? fields : `${fields.slice(0, -1)},"assembly":${settings.assembly}}`;
  return new Promise((resolve, reject) => {
    const refuse = (reason) => reject(new NothingToInject(reason));
    let url;
    try {
      url = new URL(settings.baseUrl);
    } catch {
      return refuse("POWERCONTEXT_BASE_URL is not an address");
    }
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      return refuse("POWERCONTEXT_BASE_URL is not an http or https address");
    }
    const bytes = Buffer.from(body, "utf8");
    const headers = { "Content-Type": "application/json", "Accept": "application/json", "Content-Length": bytes.length };
    if (settings.token !== null) headers.Authorization = `Bearer ${settings.token}`;
    const place = settings.unixSocket === null
      ? { hostname: url.hostname.replace(/^\[|\]$/g, ""), port: url.port || undefined }
      : { socketPath: settings.unixSocket };
    const send = url.protocol === "https:" && settings.unixSocket === null ? httpsRequest : httpRequest;
    // No agent keeps the connection, so that nothing holds the host's process at its end.
    const options = { ...place, method: "POST", path: `${url.pathname.replace(/\/$/, "")}/v1/context/prepare`, headers, agent: false };
    const asking = send(options, (answer) => {
      if (answer.statusCode !== 200) {
        refuse(`the sidecar answered ${answer.statusCode}`);
        return asking.destroy();
      }
      if (String(answer.headers["content-type"]).split(";")[0].trim().toLowerCase() !== "application/json") {
        refuse("the sidecar did not answer JSON");
        return asking.destroy();
      }
      const most = settings.maxBytes * ESCAPE_FACTOR + FRAME_BYTES;
      const chunks = [];
      let received = 0;
      answer.on("data", (chunk) => {
        chunks.push(chunk);
        received += chunk.length;
        if (received > most) {
          refuse("the answer is far over the budget");
          asking.destroy();
        }
      });
      answer.on("end", () => resolve(Buffer.concat(chunks)));
      answer.on("error", () => refuse("the answer broke off"));
      answer.on("aborted", () => refuse("the answer broke off"));
    });
    const deadline = setTimeout(() => {
      refuse(`the sidecar did not answer within ${settings.totalTimeoutS} seconds`);
      asking.destroy();
    }, settings.totalTimeoutS * 1000);
    asking.on("close", () => clearTimeout(deadline));
    asking.on("error", (failure) => refuse(`the sidecar did not answer: ${failure.code ?? failure.name}`));
    asking.setTimeout(settings.requestTimeoutS * 1000, () => {
      refuse(`the sidecar did not answer within ${settings.requestTimeoutS} seconds`);
      asking.destroy();
    });
    asking.end(bytes);
  });
}
