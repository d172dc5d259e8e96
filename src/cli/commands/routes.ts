/** `filigree routes`: lists the routes of an application, and who can call them. */
import { planApplication } from '../../bootstrap/plan-application.js'
import { describeOpenRecords, openRecords } from '../../bootstrap/public-access.js'
import { createPaint } from '../colours.js'
import {
  type Command,
  exitCodes,
  moduleOption,
  readArguments,
  readModuleArgument,
  type Terminal,
  toHeading,
  toJson,
  toTable,
} from '../command.js'
import { listRoutes, type ListedRoute } from '../describe-application.js'
import { loadApplication } from '../load-application.js'

const flags = {
  module: moduleOption,
  json: {
    type: 'boolean',
    help: 'prints a list of { method, path, name, access, roles, words, of }',
  },
} as const

export const routesCommand: Command = {
  group: 'Develop',
  usage: 'filigree routes [file]',
  summary: 'lists the routes and who can call them',
  description: `Lists the routes of an application and who can call them: its own routes, then the routes of packages and of the framework.
The application is not started.`,
  options: flags,
  examples: ['filigree routes', 'filigree routes src/main.ts --json'],
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, flags)
  const file = readModuleArgument(values, positionals)
  const application = await loadApplication(file, terminal)
  const plan = await planApplication(application.module, { ...application.options, logger: false })
  const listed = listRoutes(plan)
  const open = describeOpenRecords(openRecords(plan))
  const openText = open === '' ? '' : `\n${open}\n`
  await terminal.out(values.json ? toJson(listed) : toText(listed, terminal) + openText)
  return exitCodes.done
}

function toText(listed: readonly ListedRoute[], { hasColours }: Terminal): string {
  if (listed.length === 0) return 'The application has no routes.\n'
  const rows = listed.map(({ method, path, name, words }) => [method, path, name, words])
  const headings = toHeading(createPaint(hasColours), 'METHOD', 'PATH', 'HANDLER', 'WHO')
  return toTable([headings, ...rows])
}
