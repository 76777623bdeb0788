// DSH plugin: adds the prepared text of the context sidecar as a message of its own after what the user says.

import { randomUUID } from "node:crypto";

import { NothingToInject, prepare, readSettings } from "./prepare.mjs";

const HOST = "DSH";

export const name = "powercontext";
export const inject = ["agents"];

/** Called by DSH. The listener goes with the plugin's own context. */
export function apply(ctx) {
  // Fires before each step with the messages that are new in it. Only those of a user are asked about, so a step that
  // brings tool results asks nothing: one prepare per turn, with the settings of that moment. DSH logs the added message
  // in the session, and all later steps see it there. A subagent's task bears the source of a user, but a model wrote it.
  ctx.on("agent/pre-step", async ({ agent, signal }, next) => {
    const decision = await next();
    if (decision.kind !== "enter" || signal.aborted || agent.session.header.origin === "subagent") return decision;
    const asked = decision.messages
      .filter((message) => message.source.kind === "user")
      .flatMap((message) => message.content)
      .filter((block) => block.type === "text")
      .map((block) => block.text)
      .join("\n");
    try {
      const content = await prepare(readSettings(HOST), asked);
      return content === null ? decision : { ...decision, messages: [...decision.messages, recalled(content)] };
    } catch (failure) {
      const reason = failure instanceof NothingToInject ? failure.message : failure?.name;
      process.stderr.write(`powercontext: nothing added: ${reason}\n`);
      return decision;
    }
  });
}

/** One message in DSH's own form. The source says who wrote it, so that neither DSH nor this plugin takes it for the user's. */
function recalled(content) {
  return { id: randomUUID(), role: "user", content: [{ type: "text", text: content }], source: { kind: name } };
}
