// The page of `everthread web` in Chromium. Arguments: the link that was printed, and the browser.
import { createRequire } from "node:module";
import fs from "node:fs";
import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const [link, browserPath] = process.argv.slice(2);
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SIZES = { desk: { width: 1280, height: 900 }, picture: { width: 1120, height: 760 }, phone: { width: 390, height: 844 } };

const browser = await chromium.launch({
  executablePath: browserPath,
  args: [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});
const context = await browser.newContext({ viewport: SIZES.desk, acceptDownloads: true });
const page = await context.newPage();
const complaints = [];
page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
const base = new URL(link).origin;

const quiet = () => page.waitForLoadState("networkidle");

await serve({
  async enter() {
    await page.goto(link);
    await page.waitForURL(/threads/);
    return page.url();
  },
  async open({ path, size = "desk", scheme = "light" }) {
    await page.setViewportSize(SIZES[size]);
    await page.emulateMedia({ colorScheme: scheme });
    const answer = await page.goto(base + path);
    await quiet();
    return answer.status();
  },
  async text({ selector }) {
    return page.locator(selector).allInnerTexts();
  },
  async click({ selector }) {
    await page.locator(selector).first().click();
    await quiet();
  },
  async wait({ selector }) {
    await page.locator(selector).first().waitFor({ timeout: 20_000 });
  },
  async fill({ selector, value }) {
    await page.locator(selector).first().fill(value);
  },
  async press({ keys }) {
    for (const key of keys) await page.keyboard.press(key);
    await quiet();
    return page.evaluate(() => [document.activeElement?.tagName, document.activeElement?.textContent?.trim() ?? ""]);
  },
  async upload({ selector, file }) {
    await page.locator(selector).setInputFiles(file);
  },
  async url() {
    return page.url();
  },
  async width() {
    return page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  },
  async complaints() {
    return complaints.splice(0);
  },
  // Not from a script tag, which the policy of the page forbids.
  async axe() {
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    return found.violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes.map((node) => node.html.slice(0, 160)) }));
  },
  async picture({ file, whole = false }) {
    await page.screenshot({ path: file, fullPage: whole, animations: "disabled" });
  },
  async close() {
    await browser.close();
  },
});
