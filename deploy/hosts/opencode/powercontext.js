// opencode plugin: adds the prepared text of the context sidecar as one more part of each user message.

import { NothingToInject, prepare, readSettings } from "./powercontext/prepare.mjs";

const HOST = "OPENCODE";

/** Say it on opencode's screen, where standard error is not seen, and in its log. The turn does not wait for it. */
function show(client, message) {
  const said = [
    () => client.tui.showToast({ body: { message, variant: "warning" } }),
    () => client.app.log({ body: { service: "powercontext", level: "warn", message } }),
  ];
  for (const say of said) Promise.resolve().then(say).catch(() => {});
}

export const PowerContext = async ({ client }) => ({
  // Fires once per user message: one prepare per turn, with the settings of that moment; all model calls see it.
  "chat.message": async (input, output) => {
    const asked = output.parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n");
    try {
      const content = await prepare(readSettings(HOST), asked);
      if (content === null) return;
      // opencode sorts the parts of a message by id: this one comes after the last.
      const id = `${output.parts.at(-1).id}z`;
      const { id: messageID } = output.message;
      output.parts.push({ id, sessionID: input.sessionID, messageID, type: "text", synthetic: true, text: content });
    } catch (failure) {
      const reason = failure instanceof NothingToInject ? failure.message : failure?.name;
      const line = `powercontext: nothing added: ${reason}`;
      console.error(line);
      show(client, line);
    }
  },
});
