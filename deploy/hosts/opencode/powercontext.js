// opencode plugin: adds the prepared text of the context sidecar as one more part of each user message.

import { NothingToInject, prepare, readSettings } from "./powercontext/prepare.mjs";

const HOST = "OPENCODE";

export const PowerContext = async () => ({
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
      console.error(`powercontext: nothing added: ${reason}`);
    }
  },
});
