import { afterAll, describe, expect, it } from "vitest";
import { call, callJson, containerOf, docker, exec, newRoom, post, remove } from "./client";
import { NAME } from "./wrangler";

// Starts, deletions and ends of containers, at once and against each other.

const RACES = Number(process.env.DELETE_ROUNDS ?? 200);
/** Rounds at once, each in a room of its own: what takes time is the engine. */
const LANES = 4;

const made: string[] = [];
const room = () => {
  const name = newRoom();
  made.push(name);
  return name;
};
const status = async (name: string) => (await callJson(200, "GET", `/api/rooms/${name}`)).status;
/** All containers of sandboxes, running or not. */
const containers = () =>
  docker("ps", "--all", "--format", "{{.Names}}", "--filter", `name=-${NAME}-Sandbox-`)
    .split("\n")
    .filter((name) => name && !name.endsWith("-proxy"));

afterAll(async () => {
  for (const name of made) await remove(name);
});

it("starts one container for 100 first calls at once", async () => {
  const name = room();
  const before = containers();
  const results = await Promise.all(Array.from({ length: 100 }, (_, i) => exec(name, `hostname; echo ${i}`)));
  const hosts = new Set(results.map(({ stdout }) => stdout.split("\n")[0]));
  expect(hosts.size).toBe(1);
  for (const [i, { stdout }] of results.entries()) expect(stdout.split("\n")[1]).toBe(`${i}`);
  expect(containers().length).toBe(before.length + 1);
});

it("starts 20 rooms at once, and leaves no container of them behind", async () => {
  const before = containers();
  const rooms = Array.from({ length: 20 }, room);
  const replies = await Promise.all(rooms.map((name) => post(name, { cmd: "echo here" })));
  for (const reply of replies) {
    const body = await reply.text();
    if (reply.status === 503) expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
    else
      expect({ status: reply.status, stdout: JSON.parse(body).result?.stdout }).toEqual({
        status: 200,
        stdout: "here\n",
      });
  }
  await Promise.all(rooms.map(remove));
  expect(containers().sort()).toEqual(before.sort());
}, 120_000);

it("starts nothing again for reads of a room that was deleted", async () => {
  const name = room();
  const { id } = await exec(name, "true");
  await remove(name);
  const before = containers();
  for (const path of ["", "/sandbox/executions", `/sandbox/executions/${id}`, `/sandbox/executions/${id}/events`])
    await (await call("GET", `/api/rooms/${name}${path}`)).text();
  await (await call("POST", `/api/rooms/${name}/sandbox/executions/${id}/kill`)).text();
  await (await call("POST", `/api/rooms/${name}/sleep`)).text();
  expect(containers()).toEqual(before);
  expect(await status(name)).toBe("absent");
});

it(
  `lets a deletion win over a command, ${RACES} times`,
  async () => {
    const before = containers();
    const lane = async (rounds: number) => {
      const name = room();
      for (let round = 0; round < rounds; round++) {
        const sent = post(name, { cmd: "echo ran" });
        // At any moment of the start, and of the command.
        await new Promise((resolve) => setTimeout(resolve, (round * 37) % 500));
        const deletions = await Promise.all([remove(name), remove(name)]);
        const reply = await sent;
        const body = await reply.text();
        expect([200, 410], body).toContain(reply.status);
        // What came before a deletion starts nothing after it.
        if (reply.status === 410) expect(await status(name)).toBe("absent");
        if (reply.status === 200) expect(JSON.parse(body).result.stdout).toBe("ran\n");
        expect(deletions.every(({ sandboxName }) => sandboxName === `sandbox-${name}`)).toBe(true);
      }
      // What came after the last deletion may have made the room anew; a last one leaves nothing.
      await remove(name);
      expect(await status(name)).toBe("absent");
      expect((await exec(name, "echo alive")).stdout).toBe("alive\n");
      await remove(name);
    };
    await Promise.all(Array.from({ length: LANES }, () => lane(Math.ceil(RACES / LANES))));
    expect(containers().sort()).toEqual(before.sort());
  },
  60_000 + RACES * 5000,
);

describe("a container that is gone behind our back", () => {
  it("is not told to run, and the next command gets a new one", async () => {
    const name = room();
    await exec(name, "true");
    docker("rm", "--force", await containerOf(name));
    while ((await status(name)) !== "asleep");
    expect((await exec(name, "echo again")).stdout).toBe("again\n");
    expect(await status(name)).toBe("running");
  });

  it("comes back with the files that were saved last", async () => {
    const name = room();
    await exec(name, "echo saved > file");
    await callJson(200, "POST", `/api/rooms/${name}/sleep`);
    await exec(name, "echo lost >> file");
    docker("kill", await containerOf(name));
    while ((await status(name)) === "running");
    expect((await exec(name, "cat file")).stdout).toBe("saved\n");
  });

  it("with what was saved of it is an error that says so, not an empty room", async () => {
    const name = room();
    await exec(name, "true");
    await callJson(200, "POST", `/api/rooms/${name}/sleep`);
    const [latest = ""] = docker("images", "--format", "{{.Repository}}", "workerd-container-snap-*").split("\n");
    docker("rmi", latest);
    for (let i = 0; i < 2; i++) {
      const reply = await post(name, { cmd: "true" });
      expect(reply.status).toBe(500);
      expect(await reply.json()).toMatchObject({ error: expect.stringMatching(/snapshot.*delete/s) });
    }
    expect(await status(name)).toBe("asleep");
    await remove(name);
    expect((await exec(name, "echo anew")).stdout).toBe("anew\n");
  });
});
