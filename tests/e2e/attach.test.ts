import { afterAll, beforeAll, expect, it } from "vitest";
import { Attached, bytesOn, Channel, type Said } from "./attach";
import { callJson, containerOf, detach, docker, ended, exec, executionPath, newRoom, record, remove } from "./client";

// Attached clients and terminals through the whole chain.

const room = newRoom();
beforeAll(async () => {
  await exec(room, "true");
});
afterAll(async () => {
  await remove(room);
});

const numbers = (upto: number, end = "\n") => Array.from({ length: upto }, (_, i) => `${i + 1}${end}`).join("");
const kinds = (all: Said[]) =>
  all.map((said) => ("channel" in said ? `${said.channel}` : "text" in said ? "text" : `${said.closed}`));
const terminal = (cmd: string, options: object = {}) => detach(room, cmd, { pty: {}, detach: undefined, ...options });

it("gets the past, the mark of its end, what comes, and the exit", async () => {
  const id = await detach(room, "echo past; read -r line; echo got $line; exit 3");
  const first = await Attached.to(room, id);
  await first.until("past\n");
  const client = await Attached.to(room, id);
  expect(await client.next()).toEqual({ text: { type: "start", id, sandboxName: `sandbox-${room}`, sequence: 1 } });
  client.type("now\n");
  const all = await client.toEnd();
  expect(kinds(all)).toEqual(["1", "4", "1", "3", "1000"]);
  expect(`${bytesOn(all, Channel.stdout)}`).toBe("past\ngot now\n");
  expect(bytesOn(all, Channel.exit)).toEqual(Buffer.from([0, 0, 0, 3]));
  expect(await ended(room, id)).toMatchObject({ status: "completed", exitCode: 3 });
});

it("is told of an ended one from its record, in order, from any place on", async () => {
  const id = await detach(room, "echo out; sleep 0.05; echo err >&2; sleep 0.05; echo end; exit 7");
  await ended(room, id);
  const all = await (await Attached.to(room, id)).toEnd();
  expect(kinds(all)).toEqual(["text", "1", "2", "1", "4", "3", "1000"]);
  const rest = await (await Attached.to(room, id, "?after=6")).toEnd();
  expect(rest[0]).toMatchObject({ text: { sequence: 6 } });
  expect(`${bytesOn(rest, Channel.stderr)}|${bytesOn(rest, Channel.stdout)}`).toBe("rr\n|end\n");
  expect(bytesOn(rest, Channel.exit)).toEqual(Buffer.from([0, 0, 0, 7]));
});

it("sees every line once, whenever it comes, and goes on exactly where it was", async () => {
  const id = await detach(room, "for i in {0..49}; do seq $((i * 1000 + 1)) $((i * 1000 + 1000)); sleep 0.02; done");
  const many = Array.from({ length: 20 }, async (_, i) => {
    await new Promise((resolve) => setTimeout(resolve, i * 60)); // the moments themselves
    return `${bytesOn(await (await Attached.to(room, id)).toEnd(), Channel.stdout)}`;
  });
  let pieces = "";
  for (let over = false; !over; ) {
    const client = await Attached.to(room, id, `?after=${1 + pieces.length}`);
    for (let messages = 0; messages < 7 && !over; messages++) {
      const said = await client.next();
      if ("bytes" in said && said.channel === Channel.stdout) pieces += said.bytes;
      over = "closed" in said;
    }
    client.close();
  }
  expect(pieces).toBe(numbers(50_000));
  for (const text of await Promise.all(many)) expect(text).toBe(numbers(50_000));
});

it("closes without an exit when the sandbox dies", async () => {
  const other = newRoom();
  const id = await detach(other, "echo begun; sleep 90");
  const client = await Attached.to(other, id);
  await client.until("begun\n");
  docker("kill", await containerOf(other));
  const all = await client.toEnd();
  expect(bytesOn(all, Channel.exit)).toHaveLength(0);
  expect(all.at(-1)).not.toMatchObject({ closed: 1000 });
  const late = await (await Attached.to(other, id)).toEnd();
  expect(kinds(late)).toEqual(["text", "4", "1011"]);
  await remove(other);
});

it("says what is wrong before there is a socket", async () => {
  const unknown = `${executionPath(room, "exec_none")}/attach`;
  await callJson(426, "GET", unknown);
  await expect(Attached.to(room, "exec_none")).rejects.toThrow("refused");
});

it("ends what its last client has left, after the time that was given", async () => {
  const id = await detach(room, "echo ready; setsid sleep 995 & sleep 995", { max_run_after_disconnect_ms: 100 });
  const client = await Attached.to(room, id);
  await client.until("ready\n");
  expect((await record(room, id)).status).toBe("running");
  client.close();
  expect(await ended(room, id)).toMatchObject({ status: "cancelled" });
  expect((await exec(room, "pgrep -c -x -f 'sleep 995'")).stdout).toBe("0\n");
});

it("types in a terminal, resizes it, comes back to its screen, and shares it", async () => {
  const id = await terminal("exec bash --noprofile --norc", { pty: { cols: 100, rows: 30 }, env: { PS1: "$ " } });
  const first = await Attached.to(room, id);
  first.type("stty size; tty; echo $((6 * 7))\n");
  const screen = await first.until("\n42\r\n");
  expect(screen).toMatch(/30 100\r\n\/dev\/pts\/\d+\r\n42\r\n/);
  first.close();
  const again = await Attached.to(room, id);
  const other = await Attached.to(room, id);
  expect(await again.until("\n42\r\n")).toContain("30 100");
  await callJson(200, "POST", `${executionPath(room, id)}/resize`, { cols: 90, rows: 20 });
  again.type("stty size\n");
  expect(await other.until("20 90")).toContain("20 90");
  again.control({ type: "signal", signal: "SIGHUP" });
  expect((await again.toEnd()).at(-1)).toMatchObject({ closed: 1000 });
  expect(await ended(room, id)).toMatchObject({ status: "cancelled", signal: "SIGHUP" });
});

it("loses nothing of what a terminal writes", async () => {
  const id = await terminal("stty -opost; read -r; seq 1 200000");
  const client = await Attached.to(room, id);
  client.type("\n");
  const text = `${bytesOn(await client.toEnd(), Channel.stdout)}`;
  expect(text.slice(text.indexOf("1\n"))).toBe(numbers(200_000));
});
