// pi extension: adds the prepared text of the context sidecar as a message of its own after each prompt.

import { NothingToInject, prepare, readSettings } from "./prepare.mjs";

const HOST = "PI";

export default function powercontext(pi: any) {
  // Fires once per prompt: one prepare per turn, with the settings of that moment; all model calls of the turn see it.
  pi.on("before_agent_start", async (event: { prompt: string }, ctx: any) => {
    try {
      const content = await prepare(readSettings(HOST), event.prompt);
      // A message, not the system prompt: what was recalled must not weigh more than what the user says.
      if (content !== null) return { message: { customType: "powercontext", content, display: false } };
    } catch (failure) {
      const reason = failure instanceof NothingToInject ? failure.message : (failure as Error).name;
      const line = `powercontext: nothing added: ${reason}`;
      process.stderr.write(`${line}\n`);
      try {
        ctx.ui.notify(line, "warning"); // pi draws its screen over standard error; without a screen this does nothing
      } catch {
        // The turn goes on.
      }
    }
    return undefined;
  });
}
