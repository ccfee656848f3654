// Agent Chat UI in Chromium: a person at the screen. Arguments: the folder of the built UI, and the server's URL.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";
import { serve, until } from "./serve.mjs";

const [folder, apiUrl, browserPath] = process.argv.slice(2);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const site = http.createServer((request, response) => {
  const wanted = path.join(folder, path.normalize(new URL(request.url, "http://x").pathname));
  const file = fs.existsSync(wanted) && fs.statSync(wanted).isFile() ? wanted : path.join(folder, "index.html");
  response.setHeader("content-type", TYPES[path.extname(file)] ?? "application/octet-stream");
  fs.createReadStream(file).pipe(response);
});
await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));

const browser = await chromium.launch({
  executablePath: browserPath,
  args: [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});
let page;

const address = (threadId) => {
  const query = new URLSearchParams({ apiUrl, assistantId: "everthread", ...(threadId && { threadId }) });
  return `http://127.0.0.1:${site.address().port}/?${query}`;
};
const button = (name) => page.getByRole("button", { name, exact: true });
const bubbles = () => page.locator("div.group.ml-auto, div.group.mr-auto");
const idle = async () => {
  await button("Cancel").waitFor({ state: "hidden", timeout: 60_000 });
  await page.waitForLoadState("networkidle");
};
const started = () => button("Cancel").waitFor({ state: "visible", timeout: 20_000 });

function readBubbles() {
  return [...document.querySelectorAll("div.group.ml-auto, div.group.mr-auto")].map((element) => {
    const mine = element.classList.contains("ml-auto");
    const text = element.querySelector(mine ? "p.whitespace-pre-wrap" : "div.py-1");
    return [mine ? "user" : "assistant", (text ?? element).innerText.trim()];
  });
}

const bubble = async (text) => {
  const place = (await page.evaluate(readBubbles)).findIndex(([, shown]) => shown === text);
  if (place < 0) throw new Error(`not on the page: ${text}`);
  return bubbles().nth(place);
};

const settled = async () => {
  let before = "";
  return until(async () => {
    const now = JSON.stringify(await page.evaluate(readBubbles));
    const same = now === before;
    before = now;
    if (!same) await page.waitForTimeout(200);
    return same;
  }, "the page to stop changing");
};

const send = async (text) => {
  await page.getByPlaceholder("Type your message...").fill(text);
  await page.keyboard.press("Enter");
  await started();
};

await serve({
  async open({ threadId }) {
    await page?.close();
    page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
    await page.goto(address(threadId));
    await page.getByPlaceholder("Type your message...").waitFor();
    await idle();
    await settled();
  },
  async reload() {
    await page.reload();
    await page.getByPlaceholder("Type your message...").waitFor();
    await idle();
    await settled();
  },
  async choose({ titles }) {
    await page.goto(address(null) + "&chatHistoryOpen=true");
    await page.getByRole("heading", { name: "Thread History" }).first().waitFor();
    const listed = page.locator("div.w-full.px-1 > button:visible");
    const name = await until(async () => {
      const names = await listed.allInnerTexts();
      return titles.find((title) => names.includes(title));
    }, `a thread ${titles.join(" or ")} in the list`, 8);
    await listed.filter({ hasText: name }).first().click();
    await bubbles().first().waitFor();
    await idle();
    await settled();
  },
  async say({ text }) {
    await send(text);
    await idle();
    await settled();
  },
  async sayAndCancel({ text, words }) {
    await send(text);
    await until(async () => {
      const last = (await page.evaluate(readBubbles)).at(-1);
      return last?.[0] === "assistant" && last[1].split(" ").length >= words && last[1].includes("Reply");
    }, "the beginning of the reply");
    await button("Cancel").click();
    await idle();
    await settled();
  },
  async edit({ question, to }) {
    const edited = await bubble(question);
    await edited.hover();
    await edited.getByRole("button", { name: "Edit", exact: true }).click();
    await page.locator("div.group textarea").fill(to);
    await button("Submit").click();
    await started();
    await idle();
    await settled();
  },
  async regenerate() {
    const last = bubbles().last();
    await last.hover();
    await last.getByRole("button", { name: "Refresh", exact: true }).click();
    await started();
    await idle();
    await settled();
  },
  async shown() {
    return page.evaluate(readBubbles);
  },
  async branch({ text }) {
    const found = (await bubble(text)).getByText(/^\d+ \/ \d+$/);
    return (await found.count()) ? (await found.innerText()).split(" / ").map(Number) : null;
  },
  async threadId() {
    return new URL(page.url()).searchParams.get("threadId");
  },
  async picture({ file }) {
    await page?.screenshot({ path: file, fullPage: true });
  },
  async close() {
    await browser.close();
    site.close();
  },
});
