/** Finds the requested command, prints help texts, runs the command, and turns errors into a message and an exit code. */

import { commandGroups, type Command, UsageError, type Terminal } from './command.js'
import { paintReport } from './output.js'
import { type Paint, createPaint } from '../core/paint.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { describeError } from './describe-error.js'
import { backupCommand } from './commands/backup.js'
import { changesCommand } from './commands/changes.js'
import { copyCommand } from './commands/copy.js'
import { createCompletionCommand } from './commands/completion.js'
import { consoleCommand } from './commands/console.js'
import { devCommand } from './commands/dev.js'
import { docsCommand } from './commands/docs.js'
import { doctorCommand } from './commands/doctor.js'
import { explainCommand } from './commands/explain.js'
import { fixCommand } from './commands/fix.js'
import { jobsCommand } from './commands/jobs.js'
import { keysCommand } from './commands/keys.js'
import { mcpCommand } from './commands/mcp.js'
import { migrateCommand } from './commands/migrate.js'
import { newCommand } from './commands/new.js'
import { openapiCommand } from './commands/openapi.js'
import { partitionsCommand } from './commands/partitions.js'
import { pullCommand } from './commands/pull.js'
import { readInstalledPackage } from './project-files.js'
import { routesCommand } from './commands/routes.js'
import { runScriptCommand } from './commands/run.js'
import { tokenCommand } from './commands/token.js'
import { typesCommand } from './commands/types.js'
import { workCommand } from './commands/work.js'

const commands: ReadonlyMap<string, Command> = new Map([
  ['new', newCommand],
  ['dev', devCommand],
  ['routes', routesCommand],
  ['explain', explainCommand],
  ['token', tokenCommand],
  ['docs', docsCommand],
  ['mcp', mcpCommand],
  ['doctor', doctorCommand],
  ['fix', fixCommand],
  ['openapi', openapiCommand],
  ['types', typesCommand],
  ['keys', keysCommand],
  ['migrate', migrateCommand],
  ['run', runScriptCommand],
  ['console', consoleCommand],
  ['pull', pullCommand],
  ['backup', backupCommand],
  ['copy', copyCommand],
  ['changes', changesCommand],
  ['partitions', partitionsCommand],
  ['work', workCommand],
  ['jobs', jobsCommand],
  ['completion', createCompletionCommand(() => commands)],
])

const exitCodes = { done: 0, failed: 1, usage: 2 } as const

/** @returns the exit code: 0 done, 1 failed, 2 wrong usage */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args
  const paint = createPaint(terminal.hasColours)
  if (name === undefined) {
    const names = [...commands.keys()].join(', ')
    await terminal.err(
      `filigree: the command is missing. Commands: ${names}.\n  filigree --help describes them.\n`,
    )
    return exitCodes.usage
  }
  if (name === '--help' || name === '-h') {
    await terminal.out(listCommands(commands, paint))
    return exitCodes.done
  }
  if (name === '--version' || name === '-v') {
    await terminal.out(`${(await readInstalledPackage()).version}\n`)
    return exitCodes.done
  }
  const command = commands.get(name)
  if (command === undefined) {
    const hint = didYouMean(name, commands.keys()) || 'filigree --help lists all commands.'
    await terminal.err(`filigree: unknown command "${name}". ${hint}\n`)
    return exitCodes.usage
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    await terminal.out(describeCommand(command, paint))
    return exitCodes.done
  }
  return runWithErrors(name, command, rest, terminal)
}

async function runWithErrors(
  name: string,
  { usage, run }: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const paint = createPaint(terminal.hasErrorColours)
  // The loaded source, to show the lines of configuration problems.
  let entry: string | undefined
  const loadSources = async (file: string): Promise<void> => {
    entry = file
    await terminal.loadSources?.(file)
  }
  try {
    const succeeded = await run(args, { ...terminal, loadSources })
    return succeeded ? exitCodes.done : exitCodes.failed
  } catch (error) {
    if (error instanceof UsageError) {
      await terminal.err(
        `${paint('red', `filigree ${name}:`)} ${error.message}\n  Usage: ${usage} [options]\n  filigree ${name} --help shows options and examples.\n`,
      )
      return exitCodes.usage
    }
    const report = describeError(`filigree ${name}`, error, { cwd: terminal.cwd, entry })
    await terminal.err(`${paintReport(report, paint)}\n`)
    return exitCodes.failed
  }
}

// Help texts.

/** The list of all commands, in groups. */
function listCommands(commands: ReadonlyMap<string, Command>, paint: Paint): string {
  const rows = [...commands].map(([name, { summary }]) => [`  filigree ${name}`, summary] as const)
  const entries = toHelpRows(rows)
  const sections = commandGroups.map((group) => {
    const ofGroup = [...commands.values()].flatMap((command, index) =>
      command.group === group ? [entries[index] ?? ''] : [],
    )
    return `${paint('bold', group)}\n${ofGroup.join('')}`
  })
  return `Usage: filigree <command> [options]

${sections.join('\n')}
${paint('bold', 'Options')}
  --help, -h     describes a command: filigree migrate --help
  --version, -v  prints the version

${paint('bold', 'Examples')}
  npx filigree new desk
  npx filigree dev
  npx filigree doctor --production
`
}

/** Columns of a terminal that everybody has. */
const maxColumns = 80

/** Wraps a text at spaces. A word that is longer than a line stays whole. */
function wrap(text: string, columns = maxColumns): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`
    if (lines.length > 0 && longer.length <= columns) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

/** @returns each row with its texts side by side, and a line feed at its end */
function toHelpRows(rows: readonly (readonly [name: string, text: string])[]): string[] {
  const width = Math.max(0, ...rows.map(([name]) => name.length)) + 2
  const separator = `\n${' '.repeat(width)}`
  return rows.map(
    ([name, text]) => `${name.padEnd(width)}${wrap(text, maxColumns - width).join(separator)}\n`,
  )
}

/** The help text of a command. */
function describeCommand(
  { usage, description, actions = {}, options, examples }: Command,
  paint: Paint,
): string {
  const optionRows = Object.entries(options).map(
    ([name, { value, help }]) =>
      [`  --${name}${value === undefined ? '' : ` ${value}`}`, help] as const,
  )
  const actionRows = Object.entries(actions).map(([name, text]) => [`  ${name}`, text] as const)
  const sections = [
    ['Actions', toHelpRows(actionRows).join('')],
    ['Options', toHelpRows([...optionRows, ['  --help', 'shows this text']]).join('')],
    ['Examples', examples.map((line) => `  ${line}\n`).join('')],
  ] as const
  const texts = sections
    .filter(([, text]) => text !== '')
    .map(([title, text]) => `${paint('bold', title)}\n${text}`)
  return [
    `${wrap(`Usage: ${usage} [options]`).join('\n  ')}\n`,
    `${wrap(description.replaceAll('\n', ' ')).join('\n')}\n`,
    ...texts,
  ].join('\n')
}
