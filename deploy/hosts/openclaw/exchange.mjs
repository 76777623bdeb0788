// One HTTP/1.1 request and its answer, over a connection that is opened for it and closed after it.
//
// Not node:http: in Bun (opencode) that sends every request, the token included, to the proxy that HTTP_PROXY names, also
// one to 127.0.0.1, and fetch has no way out of it either. A socket of our own goes to the address that is configured and
// nowhere else. It follows no redirect and keeps nothing that would hold the host's process at its end.
//
// Every plugin that is written in JavaScript carries its own copy of this file; a test keeps the copies equal.

import { connect as connectPlainly, isIP } from "node:net";
import { connect as connectSecurely } from "node:tls";

const HEAD_MAX_BYTES = 16_384; // what Node takes of an answer's status line and headers

/** Why there is no answer. The message holds no token, address or content. */
export class Unanswered extends Error {}

/**
 * The body of a 200 answer in JSON to a POST of `body`, as it came; rejects with Unanswered otherwise.
 *
 * url: an http or https URL. unixSocket: the path of a socket that takes the place of its host, or null.
 * limits: `totalS` seconds for the whole, `eachWaitS` for the head and for each further piece, `mostBytes` of a body.
 */
export async function postForJson({ url, unixSocket, headers, body }, { totalS, eachWaitS, mostBytes }) {
  let tooLate;
  // Beside the reading and not a part of it, so that no event that a runtime leaves out can put it off.
  const late = new Promise((_, reject) => {
    tooLate = (seconds) => reject(new Unanswered(`the sidecar did not answer within ${seconds} seconds`));
  });
  const total = setTimeout(tooLate, totalS * 1000, totalS);
  const wait = setTimeout(tooLate, eachWaitS * 1000, eachWaitS);
  let socket;
  try {
    const secure = url.protocol === "https:" && unixSocket === null;
    socket = open(url, unixSocket, secure);
    socket.on("error", () => {}); // The reading below reports it; one that comes later must not end the host.
    const request = Buffer.concat([Buffer.from(requestHead(url, unixSocket, headers, body.length), "latin1"), body]);
    // Written no earlier: only then is it known who is on the other side.
    socket.once(secure ? "secureConnect" : "connect", () => socket.write(request));
    return await Promise.race([answerTo(new Incoming(socket, () => wait.refresh()), mostBytes), late]);
  } catch (failure) {
    if (failure instanceof Unanswered) throw failure;
    throw new Unanswered(`the sidecar did not answer: ${failure?.code ?? failure?.name}`);
  } finally {
    clearTimeout(total);
    clearTimeout(wait);
    socket?.destroy();
  }
}

function open(url, unixSocket, secure) {
  if (unixSocket !== null) return connectPlainly({ path: unixSocket });
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (!secure) return connectPlainly({ host, port: Number(url.port || 80) });
  return connectSecurely({ host, port: Number(url.port || 443), servername: isIP(host) ? undefined : host });
}

function requestHead(url, unixSocket, headers, length) {
  const host = unixSocket === null ? url.host : "localhost";
  const all = { Host: host, ...headers, "Content-Length": length, Connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${url.pathname} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

async function answerTo(incoming, mostBytes) {
  let { status, headers } = await head(incoming);
  while (status >= 100 && status < 200) ({ status, headers } = await head(incoming)); // not the answer yet
  const type = headers.get("content-type") ?? "";
  const inJson = type.split(";")[0].trim().toLowerCase() === "application/json";
  if (status !== 200) {
    const code = inJson ? await errorCode(incoming, headers, mostBytes) : "";
    throw new Unanswered(`the sidecar answered ${status}${code}${requestId(headers)}`);
  }
  if (!inJson) throw new Unanswered("the sidecar did not answer JSON");
  return content(incoming, headers, mostBytes);
}

/** The contract's code of an error with a blank before it, else nothing. No other word of it: it may echo what was sent. */
async function errorCode(incoming, headers, mostBytes) {
  try {
    const { code } = JSON.parse((await content(incoming, headers, mostBytes)).toString()).error;
    return typeof code === "string" && /^[a-z0-9_]{1,64}$/.test(code) ? ` ${code}` : "";
  } catch {
    return ""; // Something else than the contract's error body: the status alone says what there is to say.
  }
}

function requestId(headers) {
  const id = headers.get("x-powercontext-request-id") ?? "";
  return /^[\da-zA-Z_-]{1,64}$/.test(id) ? ` (request ${id})` : "";
}

async function content(incoming, headers, mostBytes) {
  if (headers.has("transfer-encoding")) {
    if (headers.get("transfer-encoding").toLowerCase() !== "chunked") throw notHttp();
    return chunked(incoming, mostBytes);
  }
  if (!headers.has("content-length")) return incoming.rest(mostBytes);
  return incoming.bytes(wholeNumber(headers.get("content-length"), 10), mostBytes);
}

/** Status and headers (names in small letters; of one that is repeated, all values) up to the empty line. */
async function head(incoming) {
  let left = HEAD_MAX_BYTES;
  const nextLine = async () => {
    const line = await incoming.line(left);
    left -= line.length + 2;
    return line;
  };
  const [, status] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(await nextLine()) ?? [];
  if (status === undefined) throw notHttp();
  const headers = new Map();
  for (let line = await nextLine(); line !== ""; line = await nextLine()) {
    const [, written, value] = /^([^\s:]+):(.*)$/.exec(line) ?? [];
    if (written === undefined) throw notHttp();
    const name = written.toLowerCase();
    headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value.trim()}` : value.trim());
  }
  return { status: Number(status), headers };
}

async function chunked(incoming, mostBytes) {
  const parts = [];
  let left = mostBytes;
  for (;;) {
    const [size] = (await incoming.line(HEAD_MAX_BYTES)).split(";");
    const length = wholeNumber(size.trim(), 16);
    if (length === 0) return Buffer.concat(parts); // what may follow is of no use here
    parts.push(await incoming.bytes(length, left));
    left -= length;
    if ((await incoming.line(0)) !== "") throw notHttp();
  }
}

function wholeNumber(text, base) {
  if (!(base === 16 ? /^[\da-f]{1,12}$/i : /^\d{1,12}$/).test(text)) throw notHttp();
  return parseInt(text, base);
}

function notHttp() {
  return new Unanswered("the answer is not HTTP/1.1");
}

/** What a socket brings, taken by lines or by bytes. `heard` is called for every piece that comes. */
class Incoming {
  #pieces;
  #heard;
  #held = Buffer.alloc(0);

  constructor(socket, heard) {
    this.#pieces = socket[Symbol.asyncIterator]();
    this.#heard = heard;
  }

  /** Whether there was more. */
  async #more() {
    const { value, done } = await this.#pieces.next();
    if (done) return false;
    this.#heard();
    this.#held = Buffer.concat([this.#held, value]);
    return true;
  }

  #take(count) {
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return taken;
  }

  /** The next line without its end, of at most `most` bytes. */
  async line(most) {
    let end;
    while ((end = this.#held.indexOf("\r\n")) < 0) {
      if (this.#held.length > most + 1) throw notHttp();
      if (!(await this.#more())) throw new Unanswered("the answer broke off");
    }
    if (end > most) throw notHttp();
    return this.#take(end + 2).toString("latin1", 0, end);
  }

  /** The next `count` bytes, which must not be more than `most`. */
  async bytes(count, most) {
    if (count > most) throw new Unanswered("the answer is far over the budget");
    while (this.#held.length < count) {
      if (!(await this.#more())) throw new Unanswered("the answer broke off");
    }
    return this.#take(count);
  }

  /** Everything up to the end of the connection, at most `most` bytes. */
  async rest(most) {
    do {
      if (this.#held.length > most) throw new Unanswered("the answer is far over the budget");
    } while (await this.#more());
    return this.#held;
  }
}
