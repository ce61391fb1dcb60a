import { afterAll, expect, it } from "vitest";
import { containerOf, docker, exec, newRoom, origin, post, remove, sandboxContainers } from "./client";

// Rooms and their containers: one for each, all its own, gone when it is deleted.

const used: string[] = [];
const room = () => {
  const name = newRoom();
  used.push(name);
  return name;
};
afterAll(async () => {
  await Promise.all(used.map(remove));
});

it("gives 100 first calls at once one container", async () => {
  const name = room();
  const before = sandboxContainers().length;
  const results = await Promise.all(Array.from({ length: 100 }, () => exec(name, "hostname")));
  expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
  expect(sandboxContainers().length).toBe(before + 1);
});

it("gives two rooms two containers", async () => {
  const [first, second] = await Promise.all([exec(room(), "hostname"), exec(room(), "hostname")]);
  expect(first.stdout).not.toBe(second.stdout);
});

it("takes UUIDs, ULIDs and ids of 64 characters, each as it is", async () => {
  for (const name of ["0190b5c2-7b1e-7cc3-98d4-2f6c3a0e5b11", "01J9ZQ4M7R8S2T3V4W5X6Y7Z8A", "x".repeat(64)]) {
    const response = await post(name, { cmd: "true" });
    expect(await response.json()).toMatchObject({ result: { exitCode: 0 }, sandboxName: `sandbox-${name}` });
    await remove(name);
  }
});

it("deletes a room with all it had, once", async () => {
  const name = room();
  await exec(name, "sleep 303 >/dev/null 2>&1 & echo gone > file");
  const container = await containerOf(name);
  expect(await remove(name)).toEqual({ sandboxName: `sandbox-${name}`, deleted: true });
  expect(docker("ps", "-aq", "--filter", `name=^/${container}$`)).toBe("");
  expect(await remove(name)).toEqual({ sandboxName: `sandbox-${name}`, deleted: false });
  expect((await exec(name, "ls -A; pgrep -c sleep")).stdout).toBe("0\n");
});

it("tells a command in flight that its room was deleted", async () => {
  const name = room();
  await exec(name, "true");
  const inFlight = post(name, { cmd: "touch begun; sleep 304" });
  while ((await exec(name, "ls begun")).exitCode !== 0);
  await remove(name);
  const response = await inFlight;
  expect(response.status).toBe(410);
  expect(await response.json()).toMatchObject({ code: "gone" });
});

it("survives deletions racing with commands", async () => {
  const name = room();
  for (let round = 0; round < 10; round++) {
    const [response] = await Promise.all([post(name, { cmd: "echo ran" }), remove(name)]);
    expect([200, 410]).toContain(response.status);
    await response.arrayBuffer();
  }
  expect((await exec(name, "echo alive")).stdout).toBe("alive\n");
});

it("answers an error when the container dies under a command, and serves the next one", async () => {
  const name = room();
  await exec(name, "true");
  const container = await containerOf(name);
  const inFlight = post(name, { cmd: "touch begun; sleep 305" });
  while ((await exec(name, "ls begun")).exitCode !== 0);
  const killed = performance.now();
  docker("kill", container);
  const response = await inFlight;
  expect(performance.now() - killed).toBeLessThan(2000);
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: expect.stringMatching(/^sandbox execution failed: /) });
  expect((await exec(name, "echo again")).stdout).toBe("again\n");
});

it("keeps the sandbox in: no host, no other room, no internet, no name server", async () => {
  const [inside, other] = [room(), room()];
  await exec(other, "true");
  const otherAddress = docker(
    "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
    `${await containerOf(other)}-proxy`,
  ); // biome-ignore format: one option a word
  const gateway = docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}");
  expect(otherAddress).toMatch(/^\d+\./);
  const reach = (host: string, port: number) =>
    exec(inside, `timeout 3 bash -c 'exec 3<>/dev/tcp/${host}/${port}' && echo reached`, { timeout_ms: 10_000 });
  for (const [host, port] of [
    [gateway, 22],
    [gateway, Number(new URL(origin()).port)],
    [otherAddress, 8080],
    [otherAddress, 39001],
    ["1.1.1.1", 443],
    ["1.1.1.1", 53],
  ] as const) {
    expect((await reach(host, port)).stdout, `${host}:${port}`).toBe("");
  }
  expect((await exec(inside, "timeout 3 getent hosts example.com")).exitCode).not.toBe(0);
  // The means of the test are sound: what may be reached is.
  expect((await reach("127.0.0.1", 8080)).stdout).toBe("reached\n");
});

it("answers nobody in the sandbox but its object", async () => {
  const call = `curl -s -o /dev/null -w %{http_code} 127.0.0.1:8080/executions -d '{"cmd":"true"}'`;
  expect((await exec(room(), call)).stdout).toBe("401");
});
