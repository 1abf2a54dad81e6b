import { firstLine } from '../errors.ts'
import { type AnyCommand, Argument, Command } from './commander.ts'
import { print } from './output.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** Each script runs `kalends completion <shell> -- <words up to the cursor>`, and falls back to file names. */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for kalends
_kalends() {
  local IFS=$'\\n'
  COMPREPLY=($(kalends completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _kalends kalends
`,
  zsh: `#compdef kalends
_kalends() {
  local -a found
  found=("\${(@f)$(kalends completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then _describe kalends found; else _files; fi
}
if [ "$funcstack[1]" = "_kalends" ]; then _kalends "$@"; else compdef _kalends kalends; fi
`,
  fish: `# fish completion for kalends
function __kalends_complete
  set -l current "$(commandline -ct)"
  set -l found (kalends completion fish -- (commandline -opc)[2..-1] "$current" 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c kalends -f -a '(__kalends_complete)'
`,
}

export function completionCommand(program: (words: readonly string[]) => Promise<AnyCommand>): AnyCommand {
  return new Command('completion')
    .description('Prints a script that completes commands, options and their choices in a shell.')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .argument('[words...]', 'after --: prints the candidates for the last word')
    .addHelpText(
      'after',
      `
Examples:
  $ source <(kalends completion bash)                                         this shell only
  $ kalends completion bash > ~/.local/share/bash-completion/completions/kalends
  $ kalends completion zsh > "\${fpath[1]}/_kalends"
  $ kalends completion fish > ~/.config/fish/completions/kalends.fish`,
    )
    .action(async (shell, words) => {
      if (words.length === 0) return print(SCRIPTS[shell])
      for (const candidate of candidates(await program(words), words)) print(`${lineFor(shell, candidate)}\n`)
    })
}

/** The words that could replace the last one. */
function candidates(program: AnyCommand, words: readonly string[]) {
  const before = words.slice(0, -1)
  const current = words.at(-1) ?? ''
  let command = program
  for (const word of before) command = command.commands.find((child) => child.name() === word) ?? command
  const options = command.createHelp().visibleOptions(command)
  const valued = options.find(
    ({ long, short, required }) => required && [long, short].includes(before.at(-1)),
  )
  const found =
    valued === undefined
      ? [
          ...command.commands.map((child) => ({ word: child.name(), summary: child.summary() })),
          ...options.flatMap(({ long, short, description }) =>
            [long, short].flatMap((flag) => (flag == null ? [] : { word: flag, summary: description })),
          ),
        ]
      : (valued.argChoices ?? []).map((word) => ({ word, summary: '' }))
  return found.filter(({ word }) => word.startsWith(current) && (current !== '' || !word.startsWith('-')))
}

function lineFor(shell: Shell, { word, summary }: ReturnType<typeof candidates>[number]): string {
  const line = firstLine(summary)
  if (shell === 'bash' || line === '') return word
  return shell === 'fish' ? `${word}\t${line}` : `${word.replaceAll(':', '\\:')}:${line}`
}
