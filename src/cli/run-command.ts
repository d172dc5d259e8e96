/** Finds the requested command, runs it, and turns errors into a message and an exit code. */
import { didYouMean } from '../errors/did-you-mean.js'
import { type Command, exitCodes, UsageError, type Terminal, toTable } from './command.js'
import { describeFailure } from './describe-failure.js'
import { devCommand } from './dev-command.js'
import { docsCommand } from './docs-command.js'
import { backupCommand } from './backup-command.js'
import { doctorCommand } from './doctor-command.js'
import { explainCommand } from './explain-command.js'
import { jobsCommand } from './jobs-command.js'
import { keysCommand } from './keys-command.js'
import { mcpCommand } from './mcp-command.js'
import { migrateCommand } from './migrate-command.js'
import { newCommand } from './new-command.js'
import { openapiCommand } from './openapi-command.js'
import { readOwnPackage } from './own-package.js'
import { routesCommand } from './routes-command.js'
import { tokenCommand } from './token-command.js'
import { typesCommand } from './types-command.js'
import { workCommand } from './work-command.js'

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
    await terminal.err(`${describeFailure(`filigree ${name}`, error)}\n`)
    return exitCodes.failed
  }
}

function listCommands(): string {
  const rows = [...commands].map(([name, { summary }]) => [`  filigree ${name}`, summary])
  return `${toTable(rows)}\nfiligree <command> --help says more of each. filigree --version\n`
}
