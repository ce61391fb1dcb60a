import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { durationOf, placeOf } from "../../sdk/cli/command";
import { commandText } from "../../sdk/cli/exec";
import { plain, sizeOf } from "../../sdk/cli/output";

/** Runs the command line as Node takes it, without a build: it strips the types. */
function cli(args: string[], env: Record<string, string> = {}) {
  const run = spawnSync(process.execPath, ["--no-warnings", "sdk/cli/main.ts", ...args], {
    encoding: "utf8",
    env: { ...process.env, ROOMBOX_URL: "http://127.0.0.1:1", ...env },
    input: "",
  });
  return { code: run.status, out: run.stdout, err: run.stderr };
}
const COMMANDS = ["exec", "shell", "ls", "logs", "kill", "cp", "rm", "token", "completion"];

describe("help", () => {
  it("fits on a screen, of all commands and of each", () => {
    const helps = [cli(["--help"]), ...COMMANDS.map((name) => cli([name, "--help"]))];
    for (const { code, out } of helps) {
      expect(code).toBe(0);
      const lines = out.trimEnd().split("\n");
      expect(lines.length).toBeLessThanOrEqual(24);
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
    }
    for (const name of COMMANDS) expect(helps[0]?.out).toContain(`\n  ${name} `);
    expect(cli([]).out).toBe(helps[0]?.out);
    expect(cli(["help", "cp"]).out).toBe(cli(["cp", "-h"]).out);
  }, 60_000);
});

describe("a wrong command line", () => {
  it("is told what is wrong, on stderr, with a code of its own", () => {
    const cases: [string[], string][] = [
      [["exce"], 'no command "exce"'],
      [["exec"], "expected: roombox exec ROOM [--] COMMAND…"],
      [["exec", "r"], "expected: roombox exec"],
      [["exec", "r", "x", "--tiemout", "3s"], "--tiemout"],
      [["exec", "--timeout", "3", "r", "x"], '--timeout: expected a time such as 30s, 5m or 1h, received "3"'],
      [["exec", "-e", "NAME", "r", "x"], "--env: expected NAME=VALUE"],
      [["ls", "--limit", "0"], "--limit: expected a whole number"],
      [["cp", "a", "b"], "one of FROM and TO must be ROOM:/PATH"],
      [["cp", "r:/a", "r:/b"], "one of FROM and TO must be ROOM:/PATH"],
      [["token", "r"], "--scope: expected"],
      [["completion", "fish"], "expected bash or zsh"],
      [["ls", "r", "--url", "nothing"], "Invalid URL"],
      [["rm", "r:/a/../b"], '".."'],
      [["shell", "r"], "needs a terminal"],
      [["ls"], "127.0.0.1:1 failed"],
    ];
    for (const [args, message] of cases) {
      const { code, out, err } = cli(args);
      expect([args, code, out]).toEqual([args, 125, ""]);
      expect(err).toContain(`roombox: `);
      expect(err).toContain(message);
    }
  }, 60_000);

  it("is told in JSON where that is asked for, but not by what is for the command", () => {
    expect(JSON.parse(cli(["ls", "--json", "--limit", "x"]).err)).toMatchObject({
      error: expect.stringContaining("--limit"),
    });
    expect(cli(["exec", "-e", "x", "r", "--", "npm", "--json"]).err).toMatch(/^roombox: /);
  });
});

describe("completions", () => {
  const complete = (script: string, ...words: string[]) =>
    execFileSync(
      "bash",
      [
        "-c",
        `${script}\nCOMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _roombox; echo "\${COMPREPLY[@]}"`,
        "bash",
        ...words,
      ],
      {
        encoding: "utf8",
      },
    ).trim();

  it("complete commands and options in bash, as the table has them", () => {
    const script = cli(["completion", "bash"]).out;
    expect(complete(script, "roombox", "")).toBe([...COMMANDS, "help"].join(" "));
    expect(complete(script, "roombox", "s")).toBe("shell");
    expect(complete(script, "roombox", "exec", "--t")).toBe("--timeout --token");
    expect(complete(script, "roombox", "completion", "z")).toBe("zsh");
    expect(complete(script, "roombox", "cp", "package.j")).toBe("package.json");
  });

  it("are a script for zsh too", () => {
    const script = cli(["completion", "zsh"]).out;
    for (const name of COMMANDS) expect(script).toContain(name);
    expect(script).toMatch(/compdef _roombox roombox\n$/);
    const zsh = spawnSync("zsh", ["-n"], { input: script, encoding: "utf8" });
    if (!zsh.error) expect([zsh.status, zsh.stderr]).toEqual([0, ""]);
  });
});

describe("words", () => {
  it("of a command come to the program as they were", () => {
    const words = [
      "printf",
      "%s|",
      "",
      "a b",
      "it's",
      '"',
      "$HOME",
      "`id`",
      "*",
      "\\",
      "\n",
      "-n",
      "é",
      "a=b",
      "~",
      "!",
      "#x",
    ];
    const out = execFileSync("bash", ["-c", commandText(words)], { encoding: "utf8" });
    expect(out).toBe(
      words
        .slice(2)
        .map((word) => `${word}|`)
        .join(""),
    );
    expect(commandText(["echo $HOME | wc"])).toBe("echo $HOME | wc");
    expect(commandText(["npm", "run", "build:sdk", "--", "-w@1"])).toBe("npm run build:sdk -- -w@1");
  });

  it("name times and places", () => {
    expect(["500ms", "30s", "5m", "1h", "2d"].map((text) => durationOf(text, "x"))).toEqual([
      500, 30e3, 300e3, 3600e3, 1728e5,
    ]);
    expect(durationOf(undefined, "x")).toBeUndefined();
    expect(placeOf("demo:/a b:c/\nd")).toEqual({ room: "demo", path: "/a b:c/\nd" });
    for (const text of ["demo", "demo:", "demo:a", ":/a", "./demo:/a", "a/b:/c", "-"])
      expect(placeOf(text)).toBeUndefined();
  });

  it("of others cannot steer the terminal", () => {
    expect(plain("a\u001b[2Jb\r\n\u009bé\0")).toBe("a?[2Jb???é?");
    expect([0, 1023, 1024, 1.5 * 2 ** 30].map(sizeOf)).toEqual(["0 B", "1023 B", "1.0 KiB", "1.5 GiB"]);
  });
});
