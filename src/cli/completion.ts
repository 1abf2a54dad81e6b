/** `kalends completion`: a script for the shell, made from the commands themselves. */
import { Argument, Command, type Option } from 'commander'
import { print } from './output.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

const HELP = `
Examples:
  $ source <(kalends completion bash)                                         this shell only
  $ kalends completion bash > ~/.local/share/bash-completion/completions/kalends
  $ kalends completion zsh > "\${fpath[1]}/_kalends"
  $ kalends completion fish > ~/.config/fish/completions/kalends.fish`

/** One command with what may follow it. */
interface Node {
  /** `schedules list`; empty for the program. */
  readonly path: string
  readonly commands: readonly { readonly name: string; readonly summary: string }[]
  readonly options: readonly Option[]
}

export function completionCommand(wholeProgram: () => Promise<Command>): Command {
  return new Command('completion')
    .description('Prints the completion script of a shell: commands, options and their choices.')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', HELP)
    .action(async (shell: Shell) => {
      const nodes = nodesOf(await wholeProgram())
      print({ bash, zsh, fish }[shell](nodes))
    })
}

function nodesOf(command: Command, path: readonly string[] = []): Node[] {
  const node: Node = {
    path: path.join(' '),
    commands: command.commands.map((child) => ({ name: child.name(), summary: child.summary() })),
    options: command.createHelp().visibleOptions(command),
  }
  return [node, ...command.commands.flatMap((child) => nodesOf(child, [...path, child.name()]))]
}

function flagsOf(option: Option): string[] {
  return [option.long, option.short].filter((flag) => typeof flag === 'string')
}

function takesValue(option: Option): boolean {
  return option.required || option.optional
}

function bash(nodes: readonly Node[]): string {
  const words = nodes.map(
    ({ path, commands, options }) =>
      `    ${quoted(path)}) words=${quoted([...commands.map(({ name }) => name), ...options.flatMap(flagsOf)].join(' '))} ;;`,
  )
  const known = nodes.filter(({ path }) => path !== '').map(({ path }) => quoted(path))
  const choices = choicesOf(nodes).map(
    ([flag, values]) =>
      `    ${flag}) COMPREPLY=($(compgen -W ${quoted(values.join(' '))} -- "$cur")); return ;;`,
  )
  const valued = [...new Set(nodes.flatMap(({ options }) => options.filter(takesValue).flatMap(flagsOf)))]
  return `# bash completion for kalends
_kalends() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
    ${known.join('|')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$prev" in
${choices.join('\n')}
    ${valued.join('|')}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  case "$path" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$cur"))
}
complete -F _kalends kalends
`
}

function zsh(nodes: readonly Node[]): string {
  const cases = nodes.map(({ path, commands, options }) => {
    const names = commands.map(({ name, summary }) => quoted(`${name}:${described(summary)}`))
    const flags = options.map((option) => {
      const name = option.long ?? option.short ?? ''
      const values = option.argChoices === undefined ? '_files' : `(${option.argChoices.join(' ')})`
      return quoted(
        `${name}[${described(option.description)}]${takesValue(option) ? `:value:${values}` : ''}`,
      )
    })
    const describe = names.length === 0 ? '' : `commands=(${names.join(' ')}); _describe command commands; `
    return `    ${quoted(path)}) ${describe}_arguments ${flags.join(' ')} '*:file:_files' ;;`
  })
  const known = nodes.filter(({ path }) => path !== '').map(({ path }) => quoted(path))
  return `#compdef kalends
_kalends() {
  local at='' word
  local -a commands
  for word in "\${words[@]:1:$((CURRENT-2))}"; do
    case "\${at:+$at }$word" in
    ${known.join('|')}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
}
if [ "$funcstack[1]" = "_kalends" ]; then _kalends "$@"; else compdef _kalends kalends; fi
`
}

/** The first line, without what ends a description. */
function described(text: string): string {
  return text.split('\n', 1)[0]?.replaceAll(/[[\]:]/g, ' ') ?? ''
}

function fish(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, commands, options }) => {
    const condition = `__kalends_at ${quoted(path)}`
    return [
      ...commands.map(
        ({ name, summary }) =>
          `complete -c kalends -n ${quoted(condition)} -f -a ${name} -d ${quoted(summary)}`,
      ),
      ...options.map((option) => {
        const long = option.long === undefined ? '' : ` -l ${option.long.slice(2)}`
        const short = option.short === undefined ? '' : ` -s ${option.short.slice(1)}`
        const values = option.argChoices === undefined ? '' : ` -f -a ${quoted(option.argChoices.join(' '))}`
        const summary = option.description.split('\n', 1)[0] ?? ''
        return `complete -c kalends -n ${quoted(condition)}${long}${short}${takesValue(option) ? ` -r${values}` : ''} -d ${quoted(summary)}`
      }),
    ]
  })
  const known = nodes.filter(({ path }) => path !== '').map(({ path }) => quoted(path))
  return `# fish completion for kalends
function __kalends_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$at $word")
    if contains -- "$next" ${known.join(' ')}
      set at "$next"
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}

/** The flags that take one of a few values; where commands differ, all of them. */
function choicesOf(nodes: readonly Node[]): [flag: string, values: string[]][] {
  const found = new Map<string, Set<string>>()
  for (const { options } of nodes)
    for (const { long, argChoices } of options) {
      if (typeof long !== 'string' || argChoices === undefined) continue
      const values = found.get(long) ?? new Set()
      for (const value of argChoices) values.add(value)
      found.set(long, values)
    }
  return [...found].map(([flag, values]) => [flag, [...values]])
}

/** As every one of the three takes it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
