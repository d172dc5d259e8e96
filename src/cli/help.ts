/** Writes the help texts of the `filigree` command. */
import { commandGroups, toTable, type Command } from './command.js'
import type { Paint } from './colours.js'

/** The list of all commands, in groups. */
export function listCommands(commands: ReadonlyMap<string, Command>, paint: Paint): string {
  const rows = [...commands].map(([name, { summary }]) => [`  filigree ${name}`, summary])
  const lines = toTable(rows).split('\n')
  const sections = commandGroups.map((group) => {
    const ofGroup = [...commands.values()].flatMap((command, index) =>
      command.group === group ? [`${lines[index] ?? ''}\n`] : [],
    )
    return `${paint('bold', group)}\n${ofGroup.join('')}`
  })
  return `Usage: filigree <command> [options]

${sections.join('\n')}
${paint('bold', 'Options')}
  --help, -h     describes a command with its options and examples: filigree migrate --help
  --version, -v  prints the version

${paint('bold', 'Examples')}
  npx filigree new desk
  npx filigree dev
  npx filigree doctor --production
`
}

/** The help text of a command. */
export function describeCommand(
  { usage, description, actions = {}, options, examples }: Command,
  paint: Paint,
): string {
  const optionRows = Object.entries(options).map(([name, { value, help }]) => [
    `  --${name}${value === undefined ? '' : ` ${value}`}`,
    help,
  ])
  const sections = [
    ['Actions', toTable(Object.entries(actions).map(([name, text]) => [`  ${name}`, text]))],
    ['Options', toTable([...optionRows, ['  --help', 'shows this text']])],
    ['Examples', examples.map((line) => `  ${line}\n`).join('')],
  ] as const
  const texts = sections
    .filter(([, text]) => text !== '')
    .map(([title, text]) => `${paint('bold', title)}\n${text}`)
  return [`Usage: ${usage} [options]\n`, `${description}\n`, ...texts].join('\n')
}
