import { COMMON, type Command, type Option } from "./command.ts";

/** Help about all commands. */
export function overview(commands: Command[]): string {
  const rows = commands.map(({ name, operands, summary }) => [`${name} ${operands}`, summary] as const);
  return [
    "roombox - sandboxes for the rooms of a web app",
    "",
    "Usage: roombox COMMAND [OPTION…]     (roombox COMMAND --help tells more)",
    "",
    ...columns(rows),
    "",
    "Options of all commands:",
    ...columns(optionRows(COMMON)),
  ].join("\n");
}

/** Help about one. */
export function helpOf({ name, operands, summary, notes = [], options }: Command): string {
  return [
    `Usage: roombox ${name} [OPTION…] ${operands}`.trimEnd(),
    "",
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    "",
    ...columns(optionRows({ ...options, ...COMMON })),
    ...(notes.length > 0 ? ["", ...notes] : []),
  ].join("\n");
}

function optionRows(options: Record<string, Option>): [string, string][] {
  return Object.entries(options).map(([name, { short, value, help }]) => {
    return [`${short ? `-${short}, ` : "    "}--${name}${value ? ` ${value}` : ""}`, help];
  });
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
