// `useStream` of @langchain/langgraph-sdk/react without a browser: a component that shows nothing.
// Argument: the server's URL.
import { createElement } from "react";
import TestRenderer from "react-test-renderer";
import { Client } from "@langchain/langgraph-sdk";
import { useStream } from "@langchain/langgraph-sdk/react";
import { serve, until } from "./serve.mjs";

const [apiUrl] = process.argv.slice(2);
const assistantId = "everthread";
const client = new Client({ apiUrl });
let stream;
let thread = null;
let root;
let failure;

function Page({ threadId, onThreadId }) {
  const onError = (error) => (failure = error);
  stream = useStream({ apiUrl, assistantId, threadId, fetchStateHistory: true, onThreadId, onError });
  return null;
}

const draw = (threadId) =>
  createElement(Page, {
    threadId,
    onThreadId: (id) => {
      thread = id;
      root.update(draw(id));
    },
  });

const textOf = (content) =>
  typeof content === "string" ? content : content.filter((block) => block.type === "text").map((b) => b.text).join(" ");
const found = (text) => {
  const message = stream.messages.find((one) => textOf(one.content) === text);
  if (!message) throw new Error(`not among the messages: ${text}`);
  return message;
};
const parentOf = (message) => stream.getMessagesMetadata(message)?.firstSeenState?.parent_checkpoint;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const idle = async () => {
  await until(() => !stream.isLoading && !stream.isThreadLoading, "the end of the run");
  await pause(300);
  await until(() => !stream.isLoading && !stream.isThreadLoading, "the end of the run");
  if (failure) {
    const error = failure;
    failure = undefined;
    throw error;
  }
};
const submit = async (input, options = {}) => {
  stream.submit(input, { streamMode: ["values"], ...options });
  await until(() => stream.isLoading, "the start of the run", 10).catch(() => {});
};
const human = (text) => ({ messages: [{ type: "human", content: text }] });

async function open({ threadId }) {
  root?.unmount();
  thread = threadId ?? null;
  root = TestRenderer.create(draw(thread));
  await until(() => stream, "the first drawing");
  await idle();
}

await serve({
  open,
  reload: () => open({ threadId: thread }),
  async choose({ threadId }) {
    const listed = await client.threads.search({ metadata: { graph_id: assistantId }, limit: 100 });
    if (!listed.some((one) => one.thread_id === threadId)) throw new Error("the thread is not in the list");
    await open({ threadId });
  },
  async say({ text }) {
    await submit(human(text));
    await idle();
  },
  async sayAndCancel({ text, words }) {
    const before = stream.messages.length;
    await submit(human(text));
    await until(() => {
      const last = stream.messages.at(-1);
      return stream.messages.length >= before + 2 && last.type === "ai" && textOf(last.content).split(" ").length >= words;
    }, "the beginning of the reply");
    await stream.stop();
    await idle();
  },
  async edit({ question, to }) {
    await submit(human(to), { checkpoint: parentOf(found(question)) });
    await idle();
  },
  async regenerate() {
    await submit(undefined, { checkpoint: parentOf(stream.messages.at(-1)) });
    await idle();
  },
  async shown() {
    return stream.messages.map((one) => [one.type === "human" ? "user" : "assistant", textOf(one.content)]);
  },
  async branch({ text }) {
    const { branch, branchOptions } = stream.getMessagesMetadata(found(text)) ?? {};
    return branch && branchOptions ? [branchOptions.indexOf(branch) + 1, branchOptions.length] : null;
  },
  async threadId() {
    return thread;
  },
  async close() {
    root?.unmount();
  },
});
