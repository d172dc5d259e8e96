/** `filigree routes`: lists the routes of an application, and who can call them. */
import { describeOpenRecords, openRecords } from '../../bootstrap/public-access.js'
import { defineCommand, flag, moduleFileOf, moduleOption, type Terminal } from '../command.js'
import { toHeading, toJson, toTable } from '../output.js'
import { createPaint } from '../../core/paint.js'
import { listRoutes, type ListedRoute } from '../describe-application.js'
import { loadPlan } from '../load-application.js'

export const routesCommand = defineCommand({
  group: 'Develop',
  usage: 'filigree routes [file]',
  summary: 'lists the routes and who can call them',
  description: `Lists the routes of an application and who can call them: its own routes, then the routes of packages and of the framework.
The application is not started.`,
  options: {
    module: moduleOption,
    json: flag('prints a list of { method, path, name, access, roles, words, of }'),
  },
  examples: ['filigree routes', 'filigree routes src/main.ts --json'],
  run: async (args, terminal) => {
    const { values } = args
    const { plan } = await loadPlan(moduleFileOf(args), terminal)
    const listed = listRoutes(plan)
    const open = describeOpenRecords(openRecords(plan))
    const openText = open === '' ? '' : `\n${open}\n`
    await terminal.out(values.json ? toJson(listed) : toText(listed, terminal) + openText)
    return true
  },
})

function toText(listed: readonly ListedRoute[], { hasColours }: Terminal): string {
  if (listed.length === 0) return 'The application has no routes.\n'
  const rows = listed.map(({ method, path, name, words }) => [method, path, name, words])
  const headings = toHeading(createPaint(hasColours), 'METHOD', 'PATH', 'HANDLER', 'WHO')
  return toTable([headings, ...rows])
}
