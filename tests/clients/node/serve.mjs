// A program that does what it is told on its standard input, one JSON object a line, and answers each with one.
import readline from "node:readline";

export async function serve(commands) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { command, ...args } = JSON.parse(line);
    let answer;
    try {
      answer = { value: (await commands[command](args)) ?? null };
    } catch (error) {
      answer = { error: String(error?.stack ?? error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  await commands.close?.({});
  process.exit(0);
}

export async function until(check, what, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    const value = await check();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited ${seconds} s for ${what}`);
}
