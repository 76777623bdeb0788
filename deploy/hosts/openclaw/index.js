// OpenClaw plugin: adds the prepared text of the context sidecar after the user's words, for the turn only.

import { NothingToInject, cacheKey, prepare, readSettings } from "./prepare.mjs";

const HOST = "OPENCLAW";
// OpenClaw rewrites these two wherever they stand in a user's message, so a text that holds one would not arrive unchanged.
const HOSTS_OWN_MARKS = /<<<(BEGIN|END)_OPENCLAW_INTERNAL_CONTEXT>>>/;
// Turns that may run at the same time; what a turn found is of no use after it.
const KEPT_TURNS = 64;

/** The text for a query, null when there is none. Rejects with NothingToInject. */
async function textFor(settings, query) {
  const content = await prepare(settings, query);
  if (content !== null && HOSTS_OWN_MARKS.test(content)) throw new NothingToInject("OpenClaw would alter the text");
  return content;
}

/** The name of a turn, null when it has none: a message's id is one among those of its own conversation alone. */
function nameOf(event, { sessionKey, sessionId, channel, chatId, runId }) {
  const message = event.currentUserMessageId || runId;
  return message ? JSON.stringify([sessionKey, sessionId, channel, chatId, message]) : null;
}

/** Whether a person started the turn: timers, OpenClaw itself and other sessions start turns as well. */
function asksForContext({ trigger, inputProvenance }) {
  return (trigger ?? "user") === "user" && (inputProvenance?.kind ?? "external_user") === "external_user";
}

export default {
  id: "powercontext",
  name: "PowerContext",
  description: "Adds the prepared text of the context sidecar to each user turn.",
  register(api) {
    const kept = new Map();

    // OpenClaw builds the prompt anew when it tries a turn again, perhaps with another model: that asks nothing again.
    const once = (settings, turn, query) => {
      if (turn === null) return textFor(settings, query);
      const key = cacheKey(settings, turn, query);
      if (!kept.has(key)) {
        kept.set(key, textFor(settings, query));
        if (kept.size > KEPT_TURNS) kept.delete(kept.keys().next().value);
      }
      return kept.get(key);
    };

    api.on("before_prompt_build", async (event, context) => {
      if (!asksForContext(context)) return undefined;
      try {
        const query = event.currentUserMessage ?? event.prompt;
        const content = await once(readSettings(HOST), nameOf(event, context), query);
        // Beside the user's words, not in the system prompt: what was recalled must not weigh more than what the user says.
        if (content !== null) return { appendContext: content };
      } catch (failure) {
        const reason = failure instanceof NothingToInject ? failure.message : failure?.name;
        api.logger.warn(`powercontext: nothing added: ${reason}`);
      }
      return undefined;
    });
  },
};
