/** `filigree explain`: explains an error code, or how a request or a GraphQL operation is handled. */
import { planApplication } from '../../bootstrap/plan-application.js'
import { methods } from '../../routing/route-table.js'
import {
  type Command,
  exitCodes,
  moduleOption,
  readArguments,
  readJsonObject,
  type Terminal,
  toJson,
  toTable,
  UsageError,
} from '../command.js'
import { explainCode, isErrorCode } from './explain-code.js'
import { explainOperation, isDocument, type ExplainedOperation } from './explain-graphql.js'
import { explainRoute, type ExplainedRoute } from './explain-route.js'
import { loadApplication } from '../load-application.js'
import { openForReading, type ReadDatabase } from '../open-database.js'
import { withoutPasswords } from '../../core/secrets.js'

const flags = {
  as: {
    type: 'string',
    value: '<json>',
    help: 'the claims of the caller. Default: a caller without a token',
  },
  module: moduleOption,
  json: { type: 'boolean', help: 'prints the same as one JSON object' },
} as const

export const explainCommand: Command = {
  group: 'Develop',
  usage: "filigree explain GET /items/7 | '{ items { id } }' | CODE",
  summary: 'explains a request, a GraphQL operation or an error code',
  description: `Of a request it shows which route matches, why similar routes do not, and the steps before the handler: gate, checks,
interceptors, rights. Of a GraphQL operation it shows the cost, the gate, and for queries the SQL with the database's plan. Queries
run in a read-only transaction, which is rolled back. The application is not started. Of an error code it shows the cause and
what to do.`,
  options: flags,
  examples: [
    `filigree explain GET /items/7 --as '{"sub":"7","roles":["admin"]}'`,
    "filigree explain '{ items { id } }'",
    'filigree explain UNKNOWN_PATH_TYPE',
  ],
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, flags, 2)
  const [text = ''] = positionals
  if (isErrorCode(text) && positionals.length === 1) return explainCode(text, values.json, terminal)
  const request = isDocument(text) ? undefined : readRequest(positionals)
  const claims = values.as === undefined ? undefined : readJsonObject('--as', values.as)
  const { module, options } = await loadApplication(values.module, terminal)
  const plan = await planApplication(module, { ...options, logger: false })
  if (request === undefined) {
    const open = (): Promise<ReadDatabase> => openForReading(plan, options.database, terminal)
    const operation = await explainOperation(plan, text, claims, open)
    const output = values.json ? toJson(operation) : toOperationText(operation)
    // An invalid operation only has errors.
    if (operation.operation === 'none')
      await terminal.err(operation.errors.map((message) => `${message}\n`).join(''))
    if (operation.operation !== 'none' || values.json) await terminal.out(withoutPasswords(output))
    return operation.operation === 'none' ? exitCodes.failed : exitCodes.done
  }
  const explained = explainRoute(plan, request.method, request.path, claims)
  await terminal.out(values.json ? toJson(explained) : toText(explained))
  return explained.handler === null ? exitCodes.failed : exitCodes.done
}

function readRequest(positionals: readonly string[]): { method: string; path: string } {
  const [first = '', second] = positionals
  // Without a method: GET.
  const [method, path] = second === undefined ? ['GET', first] : [first.toUpperCase(), second]
  if (!['HEAD', ...methods].includes(method))
    throw new UsageError(`${first} is not a method. Methods: ${methods.join(', ')}.`)
  if (!path.startsWith('/'))
    throw new UsageError('the path is missing. Write filigree explain GET /items/7.')
  return { method, path: path.replace(/[?#].*$/s, '') }
}

function toText({
  method,
  path,
  pattern,
  handler,
  parameters,
  answer,
  others,
  steps,
}: ExplainedRoute): string {
  const parameterLines = Object.entries(parameters).map(
    ([name, value]) => `${name} = ${JSON.stringify(value)}`,
  )
  const lines =
    handler === null
      ? [`${method} ${path} → ${answer ?? ''}`]
      : [
          `${method} ${path} → ${handler}`,
          `  by ${pattern ?? ''}`,
          ...parameterLines.map((one) => `  ${one}`),
        ]
  const sections = [lines.join('\n') + '\n']
  if (steps.length > 0) sections.push(toTable(steps.map(({ step, what }) => [`  ${step}`, what])))
  if (others.length > 0) {
    sections.push(
      `Not these:\n${toTable(others.map(({ route, reason }) => [`  ${route}`, reason]))}`,
    )
  }
  return sections.join('\n')
}

function toOperationText(explained: ExplainedOperation): string {
  const { operation, cost, limit, gate, statements, errors, note } = explained
  const sections = [
    `${operation}: costs ${cost} of ${limit}\n`,
    gate.length === 0 ? '' : `Gate:\n${gate.map((line) => `  ${line}\n`).join('')}`,
    ...statements.map(({ sql, scans, plan, advice }) => {
      const indexes = advice.map((index) => `  ${index}\n`).join('')
      const scanned = scans.length === 0 ? '' : `  reads all of ${scans.join(', ')}\n${indexes}`
      return `${sql}\n${plan.map((line) => `  ${line}\n`).join('')}${scanned}`
    }),
    errors.map((message) => `${message}\n`).join(''),
    note === undefined ? '' : `${note}\n`,
  ]
  return sections.filter((section) => section !== '').join('\n')
}
