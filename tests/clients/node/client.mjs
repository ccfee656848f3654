// The client of @langchain/langgraph-sdk as a chat client. Argument: the server's URL.
import { Client } from "@langchain/langgraph-sdk";
import { serve } from "./serve.mjs";

const [apiUrl] = process.argv.slice(2);
const assistantId = "everthread";
const client = new Client({ apiUrl });
let thread = null;

const textOf = (content) =>
  typeof content === "string" ? content : content.filter((block) => block.type === "text").map((b) => b.text).join(" ");
const human = (text) => ({ messages: [{ role: "user", content: text }] });
const idOf = (checkpoint) => checkpoint?.checkpoint_id ?? "";
const messages = async () => (thread ? (await client.threads.getState(thread)).values.messages ?? [] : []);
const history = () => client.threads.getHistory(thread, { limit: 10 });
const holds = (state, id) => (state.values.messages ?? []).some((message) => message.id === id);
const firstSeen = (states, id) => states.filter((state) => holds(state, id)).at(-1);

async function idOfMessage(text) {
  const message = (await messages()).find((one) => textOf(one.content) === text);
  if (!message) throw new Error(`not among the messages: ${text}`);
  return message.id;
}

async function run(input, { checkpoint, cancelAfter } = {}) {
  thread ??= (await client.threads.create()).thread_id;
  let runId;
  let tokens = 0;
  const streamMode = ["values", "messages-tuple"];
  for await (const part of client.runs.stream(thread, assistantId, { input, checkpoint, streamMode })) {
    if (part.event === "metadata") runId = part.data.run_id;
    if (part.event === "error" && !cancelAfter) throw new Error(JSON.stringify(part.data));
    if (part.event === "messages" && ++tokens === cancelAfter) await client.runs.cancel(thread, runId, true);
  }
}

await serve({
  async open({ threadId }) {
    thread = threadId ?? null;
  },
  async reload() {},
  async choose({ threadId }) {
    const listed = await client.threads.search({ metadata: { graph_id: assistantId }, limit: 100 });
    if (!listed.some((one) => one.thread_id === threadId)) throw new Error("the thread is not in the list");
    thread = threadId;
  },
  say: ({ text }) => run(human(text)),
  sayAndCancel: ({ text, words }) => run(human(text), { cancelAfter: words }),
  async edit({ question, to }) {
    const id = await idOfMessage(question);
    await run(human(to), { checkpoint: firstSeen(await history(), id).parent_checkpoint });
  },
  async regenerate() {
    const id = (await messages()).at(-1).id;
    await run(null, { checkpoint: firstSeen(await history(), id).parent_checkpoint });
  },
  async shown() {
    return (await messages()).map((one) => [one.type === "human" ? "user" : "assistant", textOf(one.content)]);
  },
  async branch({ text }) {
    const states = await history();
    let state = firstSeen(states, await idOfMessage(text));
    while (state) {
      const parent = idOf(state.parent_checkpoint);
      const siblings = states.filter((other) => idOf(other.parent_checkpoint) === parent).reverse();
      if (siblings.length > 1) return [siblings.indexOf(state) + 1, siblings.length];
      state = states.find((other) => idOf(other.checkpoint) === parent);
    }
    return null;
  },
  async threadId() {
    return thread;
  },
  async outputKeys({ text }) {
    return Object.keys(await client.runs.wait(null, assistantId, { input: human(text) }));
  },
  async copy() {
    thread = (await client.threads.copy(thread)).thread_id;
  },
  async remove() {
    await client.threads.delete(thread);
  },
});
