import { COMMON, type Command, UsageError } from "./command.ts";
import { print } from "./output.ts";

/** Makes the command that prints completions of all commands, itself among them. */
export function completion(all: () => Command[]): Command {
  return {
    name: "completion",
    operands: "bash | zsh",
    count: [1, 1],
    summary: "print completions for a shell",
    notes: [
      'For bash put eval "$(roombox completion bash)" into ~/.bashrc,',
      'for zsh eval "$(roombox completion zsh)" into ~/.zshrc, after compinit.',
    ],
    options: {},
    async run({ operands: [shell] }) {
      if (shell !== "bash" && shell !== "zsh") throw new UsageError(`expected bash or zsh, received "${shell}"`);
      await print(shell === "bash" ? bash(all()) : zsh(all()));
      return 0;
    },
  };
}

function flagsOf({ options }: Command): string[] {
  return Object.entries({ ...options, ...COMMON }).flatMap(([name, { short }]) => [
    `--${name}`,
    ...(short ? [`-${short}`] : []),
  ]);
}

function bash(commands: Command[]): string {
  return `_roombox() {
  local word=\${COMP_WORDS[COMP_CWORD]} words=
  if ((COMP_CWORD == 1)); then
    words="${commands.map(({ name }) => name).join(" ")} help"
  elif [[ $word == -* ]]; then
    case \${COMP_WORDS[1]} in
${commands.map((command) => `      ${command.name}) words="${flagsOf(command).join(" ")}" ;;`).join("\n")}
    esac
  else
    case \${COMP_WORDS[1]} in
      completion) words="bash zsh" ;;
      cp) COMPREPLY=($(compgen -f -- "$word")); return ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _roombox roombox`;
}

function zsh(commands: Command[]): string {
  const described = ({ options }: Command) =>
    Object.entries({ ...options, ...COMMON }).map(([name, { help }]) => quoted(`--${name}:${help}`));
  return `_roombox() {
  local -a words_of
  if ((CURRENT == 2)); then
    words_of=(${commands.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(" ")})
    _describe command words_of
  elif [[ $PREFIX == -* ]]; then
    case $words[2] in
${commands.map((command) => `      ${command.name}) words_of=(${described(command).join(" ")}) ;;`).join("\n")}
    esac
    _describe option words_of
  else
    case $words[2] in
      completion) compadd bash zsh ;;
      cp) _files ;;
    esac
  fi
}
compdef _roombox roombox`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
