/** `filigree explain`: explains how a request or a GraphQL operation is handled, without starting the application. */
import { planApplication } from '../../bootstrap/plan-application.js'
import { methods } from '../../routing/route-table.js'
import {
  type Command,
  exitCodes,
  UsageError,
  type Terminal,
  readArguments,
  readJsonObject,
  toTable,
} from '../command.js'
import { explainOperation, isDocument, type ExplainedOperation } from './explain-graphql.js'
import { explainRoute, type ExplainedRoute } from './explain-route.js'
import { loadApplication } from '../load-application.js'
import { openForReading, type ReadDatabase } from '../open-database.js'
import { withoutPasswords } from '../dev/secret-patterns.js'

const usage = `filigree explain GET /items/7 | '{ items { id } }' [--as '{"sub":"7","roles":["admin"]}'] [--module module.js] [--json]
  Shows which route matches, why similar routes do not, and the steps before the handler: gate, checks, interceptors,
  rights. For a GraphQL operation: its cost, its gate, and for queries the SQL with the database's plan. Queries run
  in a read-only transaction, which is rolled back. No provider is created.
  --as claims       the claims of the caller; default: a caller without a token
  --json            the same as one object on standard output`

export const explainCommand: Command = {
  usage,
  summary: 'which route matches a request, the steps before its handler, and the SQL of GraphQL',
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const kinds = { as: 'text', module: 'text', json: 'switch' } as const
  const { values, positionals } = readArguments(args, kinds, 2)
  const [text = ''] = positionals
  const request = isDocument(text) ? undefined : readRequest(positionals)
  const claims = values.as === undefined ? undefined : readJsonObject('--as', values.as)
  const { module, options } = await loadApplication(values.module, terminal)
  const plan = await planApplication(module, { ...options, logger: false })
  if (request === undefined) {
    const open = (): Promise<ReadDatabase> => openForReading(plan, options.database, terminal)
    const operation = await explainOperation(plan, text, claims, open)
    const output = values.json
      ? `${JSON.stringify(operation, null, 2)}\n`
      : toOperationText(operation)
    // An invalid operation only has errors.
    if (operation.operation === 'none')
      await terminal.err(operation.errors.map((message) => `${message}\n`).join(''))
    if (operation.operation !== 'none' || values.json) await terminal.out(withoutPasswords(output))
    return operation.operation === 'none' ? exitCodes.failed : exitCodes.done
  }
  const explained = explainRoute(plan, request.method, request.path, claims)
  await terminal.out(values.json ? `${JSON.stringify(explained, null, 2)}\n` : toText(explained))
  return explained.handler === null ? exitCodes.failed : exitCodes.done
}

function readRequest(positionals: readonly string[]): { method: string; path: string } {
  const [first = '', second] = positionals
  // Without a method: GET.
  const [method, path] = second === undefined ? ['GET', first] : [first.toUpperCase(), second]
  if (!['HEAD', ...methods].includes(method))
    throw new UsageError(`${first} is no method. Methods: ${methods.join(', ')}.`)
  if (!path.startsWith('/')) throw new UsageError('name a path: filigree explain GET /items/7.')
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
