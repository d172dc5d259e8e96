/** `filigree routes`: lists the routes of an application, and who can call them. */
import { planApplication } from '../../bootstrap/plan-application.js'
import { describeOpenRecords, openRecords } from '../../bootstrap/public-access.js'
import { type Command, exitCodes, type Terminal, readArguments, toTable } from '../command.js'
import { listRoutes, type ListedRoute } from '../describe-application.js'
import { loadApplication } from '../load-application.js'

const usage = `filigree routes [module.js] [--json]
  Lists what an application answers, and who may ask: its own routes first, then those of packages and of the
  framework. Nothing is started.
  --json            a list of { method, path, name, access, roles, of } on standard output`

export const routesCommand: Command = {
  usage,
  summary: 'what the application answers, and to whom',
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, { json: 'switch' })
  const { module, options } = await loadApplication(positionals[0], terminal)
  const plan = await planApplication(module, { ...options, logger: false })
  const listed = listRoutes(plan)
  const open = describeOpenRecords(openRecords(plan))
  const text = (): string => `${toText(listed)}${open === '' ? '' : `\n${open}\n`}`
  await terminal.out(values.json ? `${JSON.stringify(listed, null, 2)}\n` : text())
  return exitCodes.done
}

function toText(listed: readonly ListedRoute[]): string {
  if (listed.length === 0) return 'The application has no routes.\n'
  const rows = listed.map(({ method, path, name, words }) => [method, path, name, words])
  return toTable([['METHOD', 'PATH', 'HANDLER', 'WHO'], ...rows])
}
