import { ExecTimeoutError, Sandbox, ShellBusyError, ShellClosedError } from "@opencomputer/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callJson, origin } from "./client";

// The published package, as it is, against ours: every call of its page.

const decoder = new TextDecoder();
let sandbox: Sandbox;
const options = () => ({ apiUrl: origin() });

beforeAll(async () => {
  sandbox = await Sandbox.create({ ...options(), envs: { FROM_CREATE: 'it\'s "quoted"\n$HOME' } });
});
afterAll(async () => {
  await sandbox.kill();
});

/** A started session, with all that it says. */
async function start(command: string, opts: Parameters<Sandbox["exec"]["start"]>[1] = {}) {
  const said = { out: "", err: "", exits: [] as number[], scrollbackEnds: 0 };
  const session = await sandbox.exec.start(command, {
    ...opts,
    onStdout: (data) => {
      said.out += decoder.decode(data, { stream: true });
    },
    onStderr: (data) => {
      said.err += decoder.decode(data, { stream: true });
    },
    onExit: (code) => said.exits.push(code),
    onScrollbackEnd: () => {
      said.scrollbackEnds++;
    },
  });
  return { session, said };
}

describe("Sandbox", () => {
  it("is made, found again, running, and gone when it was killed", async () => {
    const made = await Sandbox.create(options());
    expect(made.status).toBe("running");
    expect((await made.exec.run("echo hi > f; cat f")).stdout).toBe("hi\n");
    const found = await Sandbox.connect(made.sandboxId, options());
    expect(await found.isRunning()).toBe(true);
    expect((await found.exec.run("cat f")).stdout).toBe("hi\n");
    await found.kill();
    expect(await made.isRunning()).toBe(false);
    await expect(Sandbox.connect(made.sandboxId, options())).rejects.toThrow("404");
  });

  it("is refused by name what it cannot have", async () => {
    await expect(Sandbox.create({ ...options(), template: "huge" })).rejects.toThrow(
      'templateID: Invalid option: expected one of \\"base\\"',
    );
    await expect(Sandbox.create({ ...options(), cpuCount: 64 })).rejects.toThrow("cpuCount");
    await expect(Sandbox.create({ ...options(), envs: { "A B": "" } })).rejects.toThrow("envs");
  });

  it("is listed", async () => {
    const all = await callJson(200, "GET", "/api/sandboxes?limit=100");
    expect(all).toContainEqual(expect.objectContaining({ sandboxID: sandbox.sandboxId, status: "running" }));
  });
});

describe("exec.run", () => {
  it("answers exit code and both streams", async () => {
    expect(await sandbox.exec.run("echo out; echo err >&2; exit 3")).toEqual({
      exitCode: 3,
      stdout: "out\n",
      stderr: "err\n",
    });
  });

  it("takes env and cwd, above those of the sandbox", async () => {
    const env = { A: 'it\'s "quoted"\n$HOME' };
    expect((await sandbox.exec.run('printf %s "$A|$FROM_CREATE|$PWD"', { env, cwd: "/tmp" })).stdout).toBe(
      `${env.A}|${env.A}|/tmp`,
    );
    await expect(sandbox.exec.run("true", { cwd: "/nonexistent" })).rejects.toThrow("400");
  });

  it("ends at its timeout with 124, and is left running by a client that does not wait", async () => {
    expect(await sandbox.exec.run("echo begun; sleep 60", { timeout: 0.3 })).toMatchObject({
      exitCode: 124,
      stdout: "begun\n",
    });
    const waiting = sandbox.exec.run("sleep 3", { timeoutMs: 10 });
    await expect(waiting).rejects.toThrow(ExecTimeoutError);
  });

  it("is there at once over the plain call, too", async () => {
    const body = { cmd: "printf", args: ["%s|", "a b", "", "$HOME"], timeout: 5 };
    const result = await callJson(200, "POST", `/api/sandboxes/${sandbox.sandboxId}/exec/run`, body);
    expect(result).toMatchObject({ running: false, exitCode: 0, stdout: "a b||$HOME|", stderr: "" });
  });
});

describe("exec.start", () => {
  it("streams both, and resolves with the exit code", async () => {
    const { session, said } = await start("echo out; echo err >&2; exit 5");
    expect(await session.done).toBe(5);
    expect(said).toEqual({ out: "out\n", err: "err\n", exits: [5], scrollbackEnds: 1 });
  });

  it("misses nothing of a command that writes much at once", async () => {
    const { session, said } = await start("seq 1 400000");
    expect(await session.done).toBe(0);
    expect(said.out).toBe(Array.from({ length: 400_000 }, (_, i) => `${i + 1}\n`).join(""));
  });

  it("takes arguments as they are", async () => {
    const { session, said } = await start("printf", { args: ["%s\n", "a b", "$HOME", "é'\""] });
    expect(await session.done).toBe(0);
    expect(said.out).toBe("a b\n$HOME\né'\"\n");
  });

  it("takes input, signals, and kills", async () => {
    const { session, said } = await start("cat");
    session.sendStdin("one\n");
    session.sendStdin(new TextEncoder().encode("two\n"));
    await expect.poll(() => said.out).toBe("one\ntwo\n");
    await session.kill();
    expect(await session.done).toBe(137);
    const other = await start("trap 'exit 9' TERM; echo ready; while :; do sleep 0.02; done");
    await expect.poll(() => other.said.out).toBe("ready\n");
    await other.session.kill(15);
    expect(await other.session.done).toBe(9);
  });

  it("goes on for whoever attaches later, with what it said before", async () => {
    const { session } = await sandbox.exec
      .background("sh", { args: ["-c", "echo past; read x; echo $x"] })
      .then((session) => ({ session }));
    session.close();
    let out = "";
    let atEnd = "";
    const again = await sandbox.exec.attach(session.sessionId, {
      onStdout: (data) => {
        out += decoder.decode(data);
      },
      onScrollbackEnd: () => {
        atEnd = out;
      },
    });
    await expect.poll(() => out).toBe("past\n");
    again.sendStdin("now\n");
    expect(await again.done).toBe(0);
    expect([out, atEnd]).toEqual(["past\nnow\n", "past\n"]);
  });

  it("is ended some time after its client has left, if that was asked for", async () => {
    const { session, said } = await start("echo ready; sleep 60", { maxRunAfterDisconnect: 0.1 });
    await expect.poll(() => said.out).toBe("ready\n");
    session.close();
    await expect
      .poll(async () => (await sandbox.exec.list()).find(({ sessionID }) => sessionID === session.sessionId))
      .toMatchObject({ running: false, exitCode: 137 });
  });

  it("is listed with who is attached, and refused where there is none", async () => {
    const { session, said } = await start("sh", { args: ["-c", "echo ready; sleep 60"] });
    await expect.poll(() => said.out).toBe("ready\n");
    expect(await sandbox.exec.list()).toContainEqual(
      expect.objectContaining({
        sessionID: session.sessionId,
        sandboxID: sandbox.sandboxId,
        command: "sh",
        args: ["-c", "echo ready; sleep 60"],
        running: true,
        attachedClients: 1,
      }),
    );
    await sandbox.exec.kill(session.sessionId);
    expect(await session.done).toBe(137);
    await expect(sandbox.exec.kill(session.sessionId)).rejects.toThrow("409");
    await expect(sandbox.exec.kill("exec_none")).rejects.toThrow("404");
    await expect(sandbox.exec.attach("exec_none")).rejects.toThrow();
  });
});

describe("exec.shell", () => {
  it("keeps directory, variables and functions, and streams stay apart", async () => {
    const shell = await sandbox.exec.shell({ cwd: "/tmp", env: { GIVEN: "1" } });
    expect(await shell.run("pwd; echo $GIVEN; f() { echo f $1; }; export X=5; cd /")).toEqual({
      exitCode: 0,
      stdout: "/tmp\n1\n",
      stderr: "",
    });
    expect(await shell.run("f $X; pwd; echo e >&2; false")).toEqual({ exitCode: 1, stdout: "f 5\n/\n", stderr: "e\n" });
    expect((await shell.run("cat <<'END'\nhere $X\nEND")).stdout).toBe("here $X\n");
    expect((await shell.run("echo ok")).stdout).toBe("ok\n");
    await shell.close();
    await expect(shell.run("true")).rejects.toThrow(ShellClosedError);
  });

  it("runs one at a time, and closes with exit", async () => {
    const shell = await sandbox.exec.shell();
    const running = shell.run("sleep 0.2; echo done");
    await expect(shell.run("true")).rejects.toThrow(ShellBusyError);
    expect((await running).stdout).toBe("done\n");
    await expect(shell.run("exit 42")).rejects.toThrow("42");
    const next = await sandbox.exec.shell();
    const again = await sandbox.exec.reattachShell(next.sessionId);
    expect((await again.run("echo again")).stdout).toBe("again\n");
    await next.close();
  });

  it("opens every time", async () => {
    for (let i = 0; i < 20; i++) {
      const shell = await sandbox.exec.shell();
      expect((await shell.run(`echo ${i}`)).stdout).toBe(`${i}\n`);
      await shell.close();
    }
  });
});

describe("pty.create", () => {
  it("is a terminal of raw bytes", async () => {
    let screen = "";
    const terminal = await sandbox.pty.create({
      cols: 100,
      rows: 30,
      onOutput: (data) => {
        screen += decoder.decode(data, { stream: true });
      },
    });
    await expect.poll(() => screen).not.toBe(""); // the package does not wait for its socket
    terminal.send("stty size; tty\n");
    await expect.poll(() => screen).toMatch(/30 100\r\n\/dev\/pts\/\d+\r\n/);
    const at = `/api/sandboxes/${sandbox.sandboxId}/pty/${terminal.sessionId}`;
    expect(
      (
        await fetch(`${origin()}${at}/resize`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: '{"cols":90,"rows":20}',
        })
      ).status,
    ).toBe(204);
    terminal.send("stty size\n");
    await expect.poll(() => screen).toMatch(/20 90\r\n/);
    terminal.close();
    expect((await fetch(origin() + at, { method: "DELETE" })).status).toBe(204);
  });
});
