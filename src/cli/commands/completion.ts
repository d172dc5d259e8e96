/** `filigree completion`: prints a script that completes commands and options in a shell. */
import { type Command, defineCommand, UsageError } from '../command.js'

type Commands = ReadonlyMap<string, Command>

const scripts: Readonly<Record<string, (commands: Commands) => string>> = {
  bash: writeBash,
  zsh: writeZsh,
  fish: writeFish,
}

const actions = {
  bash: 'source <(filigree completion bash)',
  zsh: 'source <(filigree completion zsh)',
  fish: 'filigree completion fish | source',
}

/** @param commands all commands, which are only known after this one is created */
export function createCompletionCommand(commands: () => Commands): Command {
  return defineCommand({
    group: 'Shell',
    usage: 'filigree completion bash | zsh | fish',
    summary: 'prints a script that completes commands and options in a shell',
    description: `Write the line of your shell into its start file, such as ~/.bashrc or ~/.zshrc. The script completes "filigree" and
"npx filigree".`,
    actions,
    options: {},
    examples: ['source <(npx filigree completion bash)'],
    run: async ({ positionals: [shell = ''] }, { out }) => {
      const write = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
      if (write === undefined)
        throw new UsageError(`name your shell: ${Object.keys(scripts).join(', ')}.`)
      await out(write(commands()))
      return true
    },
  })
}

/** The actions and options of a command, in the order of the help text. */
function candidatesAfter({ actions = {}, options }: Command): string[] {
  return [...Object.keys(actions), ...optionsOf(options), '--help']
}

function optionsOf(options: Command['options']): string[] {
  return Object.keys(options).map((name) => `--${name}`)
}

/** `case` branches for the values of options that have a list of values. */
function choiceCases(commands: Commands, write: (candidates: string) => string): string {
  const choices = new Map<string, string>()
  for (const { options } of commands.values())
    for (const [name, { choices: list = [] }] of Object.entries(options))
      if (list.length > 0) choices.set(name, list.join(' '))
  return [...choices]
    .map(([name, candidates]) => `    --${name}) ${write(candidates)} ;;\n`)
    .join('')
}

function commandCases(commands: Commands, write: (candidates: string) => string): string {
  return [...commands]
    .map(([name, command]) => `    ${name}) ${write(candidatesAfter(command).join(' '))} ;;\n`)
    .join('')
}

function writeBash(commands: Commands): string {
  const names = [...commands.keys(), '--help', '--version'].join(' ')
  return `# Completes filigree in bash: source <(filigree completion bash)
_filigree() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local first=1 candidates=
  [ "\${COMP_WORDS[0]}" = npx ] && first=2
  if [ "$first" = 2 ] && [ "\${COMP_WORDS[1]}" != filigree ]; then return; fi
  case "$previous" in
${choiceCases(commands, (candidates) => `candidates="${candidates}"`)}  esac
  if [ -n "$candidates" ]; then
    COMPREPLY=($(compgen -W "$candidates" -- "$current"))
    return
  fi
  if [ "$COMP_CWORD" -eq "$first" ]; then
    COMPREPLY=($(compgen -W "${names}" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[first]}" in
${commandCases(commands, (candidates) => `candidates="${candidates}"`)}  esac
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _filigree filigree npx
`
}

function writeZsh(commands: Commands): string {
  const names = [...commands].map(([name, { summary }]) => `    ${quoted(`${name}:${summary}`)}\n`)
  return `# Completes filigree in zsh: source <(filigree completion zsh)
_filigree() {
  local -a names
  names=(
${names.join('')}  )
  case "\${words[CURRENT-1]}" in
${choiceCases(commands, (candidates) => `compadd -- ${candidates}; return`)}  esac
  if (( CURRENT == 2 )); then
    _describe command names
    return
  fi
  case "\${words[2]}" in
${commandCases(commands, (candidates) => `compadd -- ${candidates}`)}  esac
  _files
}
compdef _filigree filigree
`
}

function writeFish(commands: Commands): string {
  const lines = [...commands].flatMap(([name, { summary, actions = {}, options }]) => {
    const after = `complete -c filigree -n '__fish_seen_subcommand_from ${name}'`
    return [
      `complete -c filigree -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...Object.entries(actions).map(
        ([action, text]) => `${after} -f -a ${action} -d ${quoted(text)}`,
      ),
      ...Object.entries(options).map(([option, { type, help, choices = [] }]) => {
        const values = choices.length === 0 ? '' : ` -f -a ${quoted(choices.join(' '))}`
        return `${after} -l ${option}${type === 'string' ? ' -r' : ''}${values} -d ${quoted(help)}`
      }),
    ]
  })
  return `# Completes filigree in fish: filigree completion fish | source\n${lines.join('\n')}\n`
}

/** Quotes a text for zsh and fish. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
