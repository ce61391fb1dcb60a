import { expect, it } from "vitest";
import { exec, execUrl, newRoom, origin, post, remove } from "./client";

// Every example and every error of the published page of the rooms' exec call.

const json = async (response: Response) => ({ status: response.status, body: await response.json() });

it("answers the example", async () => {
  const { status, body } = await json(await post("room-123", `{\n    "cmd": "echo 'Hello from sandbox'"\n  }`));
  expect(status).toBe(200);
  expect(body).toEqual({
    result: {
      id: expect.stringMatching(/^exec_[0-9a-f]+$/),
      status: "completed",
      exitCode: 0,
      signal: null,
      success: true,
      stdout: "Hello from sandbox\n",
      stderr: "",
      truncated: false,
      oom: false,
      command: "echo 'Hello from sandbox'",
      duration: expect.any(Number),
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      finishedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    },
    sandboxName: "sandbox-room-123",
  });
  await remove("room-123");
});

it("answers 400 when validation fails", async () => {
  expect(await json(await post("room-123", { cmd: "" }))).toEqual({
    status: 400,
    body: { error: "invalid request", details: { cmd: ["Command cannot be empty"] }, code: "invalid_request" },
  });
});

it("answers 404 when the room id is missing or the path is wrong", async () => {
  for (const path of ["/api/rooms//sandbox/exec", "/api/rooms/"]) {
    const answer = await json(await fetch(origin() + path, { method: "POST" }));
    expect(answer).toEqual({ status: 404, body: { error: "not found - room ID is required", code: "not_found" } });
  }
  for (const path of ["/api", "/api/rooms/room-123/sandbox/run", "/api/rooms/room-123/sandbox/exec/x"]) {
    const response = await fetch(origin() + path, { method: "POST" });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await json(response)).toEqual({
      status: 404,
      body: { error: expect.stringMatching(/^not found - /), code: "not_found" },
    });
  }
});

it("answers 405 to another method than POST", async () => {
  for (const method of ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
    const response = await fetch(execUrl("room-123"), { method });
    expect(response.headers.get("allow")).toBe("POST");
    expect(await json(response)).toEqual({
      status: 405,
      body: { error: "method not allowed - only POST is supported", code: "method_not_allowed" },
    });
  }
});

it("keeps files between commands, apart from other rooms, until DELETE", async () => {
  const [mine, other] = [newRoom(), newRoom()];
  await exec(mine, "echo kept > file");
  expect((await exec(mine, "cat file")).stdout).toBe("kept\n");
  expect((await exec(other, "cat file")).exitCode).toBe(1);
  expect(await remove(mine)).toEqual({ sandboxName: `sandbox-${mine}`, deleted: true });
  expect((await exec(mine, "ls -A")).stdout).toBe("");
  await Promise.all([remove(mine), remove(other)]);
});
