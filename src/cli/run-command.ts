/** Finds the requested command, runs it, and turns errors into a message and an exit code. */
import { didYouMean } from '../errors/did-you-mean.js'
import { type Command, exitCodes, UsageError, type Terminal, toTable } from './command.js'
import { describeError } from './describe-error.js'
import { devCommand } from './commands/dev.js'
import { docsCommand } from './commands/docs.js'
import { backupCommand } from './commands/backup.js'
import { doctorCommand } from './commands/doctor.js'
import { explainCommand } from './commands/explain.js'
import { jobsCommand } from './commands/jobs.js'
import { keysCommand } from './commands/keys.js'
import { mcpCommand } from './commands/mcp.js'
import { migrateCommand } from './commands/migrate.js'
import { newCommand } from './commands/new.js'
import { openapiCommand } from './commands/openapi.js'
import { readOwnPackage } from './package-files.js'
import { routesCommand } from './commands/routes.js'
import { tokenCommand } from './commands/token.js'
import { typesCommand } from './commands/types.js'
import { workCommand } from './commands/work.js'

const commands: ReadonlyMap<string, Command> = new Map([
  ['new', newCommand],
  ['dev', devCommand],
  ['routes', routesCommand],
  ['explain', explainCommand],
  ['token', tokenCommand],
  ['keys', keysCommand],
  ['migrate', migrateCommand],
  ['doctor', doctorCommand],
  ['backup', backupCommand],
  ['openapi', openapiCommand],
  ['types', typesCommand],
  ['work', workCommand],
  ['jobs', jobsCommand],
  ['docs', docsCommand],
  ['mcp', mcpCommand],
])

/** @returns the exit code: 0 done, 1 failed, 2 wrong usage */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args
  if (name === undefined) {
    const names = [...commands.keys()].join(', ')
    await terminal.err(`filigree: say what to do: ${names}.\n  filigree --help lists them.\n`)
    return exitCodes.usage
  }
  if (name === '--help' || name === '-h') {
    await terminal.out(listCommands())
    return exitCodes.done
  }
  if (name === '--version' || name === '-v') {
    await terminal.out(`${(await readOwnPackage()).version}\n`)
    return exitCodes.done
  }
  const command = commands.get(name)
  if (command === undefined) {
    const near = didYouMean(name, commands.keys())
    const hint = near === '' ? 'filigree --help lists all.' : near
    await terminal.err(`filigree: unknown command "${name}". ${hint}\n`)
    return exitCodes.usage
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    await terminal.out(`${command.usage}\n`)
    return exitCodes.done
  }
  try {
    return await command.run(rest, terminal)
  } catch (error) {
    if (error instanceof UsageError) {
      const [form = ''] = command.usage.split('\n')
      await terminal.err(
        `filigree ${name}: ${error.message}\n  ${form}\n  filigree ${name} --help says more.\n`,
      )
      return exitCodes.usage
    }
    await terminal.err(`${describeError(`filigree ${name}`, error)}\n`)
    return exitCodes.failed
  }
}

function listCommands(): string {
  const rows = [...commands].map(([name, { summary }]) => [`  filigree ${name}`, summary])
  return `${toTable(rows)}\nfiligree <command> --help says more of each. filigree --version\n`
}
