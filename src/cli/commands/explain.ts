/** `filigree explain`: explains an error code of docs/errors.md, or how a request or a GraphQL operation is handled. */

import { didYouMean } from '../../errors/did-you-mean.js'
import { errorCodes } from '../../errors/error-codes.js'
import { methods } from '../../routing/route-table.js'
import {
  type Terminal,
  UsageError,
  defineCommand,
  flag,
  moduleOption,
  option,
  readJsonObject,
} from '../command.js'
import { toJson, toTable } from '../output.js'
import { readPage } from '../documentation-pages.js'
import { explainOperation, isDocument, type ExplainedOperation } from './explain-graphql.js'
import { explainRoute, readRequest, type ExplainedRoute } from './explain-route.js'
import { loadPlan, openForReading, type ReadDatabase } from '../load-application.js'
import { withoutPasswords } from '../../core/secrets.js'

export const explainCommand = defineCommand({
  group: 'Develop',
  usage: "filigree explain GET /items/7 | '{ items { id } }' | CODE",
  summary: 'explains a request, a GraphQL operation or an error code',
  description: `Of a request it shows which route matches, why similar routes do not, and the steps before the handler: gate, checks,
interceptors, rights. If no route matches, it shows the nearest ones. Of a GraphQL operation it shows the cost, the gate, and
for queries the SQL with the database's plan. Queries run in a read-only transaction, which is rolled back. The application is
not started. Of an error code it shows the cause, what to do, and for common mistakes a wrong and a right example.`,
  options: {
    as: option('<json>', 'the claims of the caller. Default: a caller without a token'),
    module: moduleOption,
    json: flag('prints the same as one JSON object'),
  },
  examples: [
    `filigree explain GET /items/7 --as '{"sub":"7","roles":["admin"]}'`,
    "filigree explain '{ items { id } }'",
    'filigree explain UNKNOWN_PATH_TYPE',
  ],
  maxPositionals: 2,
  run: async ({ values, positionals: [text = '', path] }, terminal) => {
    if (isErrorCode(text) && path === undefined) {
      await explainCode(text, values.json, terminal)
      return true
    }
    const request = isDocument(text) ? undefined : toRequest(text, path)
    if (request?.path.startsWith('/') === false)
      throw new UsageError('the path is missing. Write filigree explain GET /items/7.')
    const claims = values.as === undefined ? undefined : readJsonObject('--as', values.as)
    const { options, plan } = await loadPlan(values.module, terminal)
    if (request === undefined) {
      const open = (): Promise<ReadDatabase> => openForReading(plan, options.database, terminal)
      const operation = await explainOperation(plan, text, claims, open)
      const output = values.json ? toJson(operation) : toOperationText(operation)
      // An invalid operation only has errors.
      if (operation.operation === 'none')
        await terminal.err(operation.errors.map((message) => `${message}\n`).join(''))
      if (operation.operation !== 'none' || values.json)
        await terminal.out(withoutPasswords(output))
      return operation.operation !== 'none'
    }
    const explained = explainRoute(plan, request.method, request.path, claims)
    await terminal.out(values.json ? toJson(explained) : toText(explained))
    return explained.handler !== null
  },
})

/** Without a method: GET. Both may be one argument, `'GET /items'`. */
function toRequest(text: string, path: string | undefined): ReturnType<typeof readRequest> {
  const [, method = 'GET', target = text] = /^(\w+)\s+(\/.*)$/s.exec(text) ?? []
  return path === undefined ? readRequest(method, target) : readRequest(text, path)
}

function toText(explained: ExplainedRoute): string {
  const { method, path, pattern, handler, parameters, others, steps } = explained
  const { answer, nearest = [] } = explained
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
  if (nearest.length > 0)
    sections.push(`Nearest routes:\n${nearest.map((route) => `  ${route}\n`).join('')}`)
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

// Error codes, explained by the tables of docs/errors.md.

/** An entry of docs/errors.md. A code can have several, for example for REST and for GraphQL. */
interface Explanation {
  readonly code: string
  /** The headings above the entry: `At the start`, `Routes and access`. */
  readonly section: string
  /** The status of a response. Undefined for problems at the start, and in GraphQL. */
  readonly status: string | undefined
  readonly text: string
  /** The mistake in code, and the same code without it. Only of common codes. */
  readonly example: CodeExample | undefined
}

interface CodeExample {
  readonly wrong: string
  readonly right: string
}

/** The heading of the table of examples. */
const examplesHeading = 'Examples'

/** @returns true for a text such as `UNKNOWN_PATH_TYPE`, but not for a method of HTTP */
function isErrorCode(text: string): boolean {
  return /^[A-Z][A-Z0-9_]{2,}$/.test(text) && !['HEAD', ...methods].includes(text)
}

/** @throws {UsageError} the code is unknown */
async function explainCode(
  code: string,
  json: boolean,
  { out }: Pick<Terminal, 'out'>,
): Promise<void> {
  const all = readExplanations(await readPage('errors'))
  const found = all.filter((one) => one.code === code)
  if (found.length === 0) {
    const hint =
      didYouMean(code, Object.keys(errorCodes)) || 'filigree docs errors lists all codes.'
    throw new UsageError(`unknown error code ${code}. ${hint}`)
  }
  await out(json ? toJson(found) : found.map(explanationToText).join('\n'))
}

/** Reads the rows of tables whose first or second cell has codes, and the table of examples. */
function readExplanations(page: string): Explanation[] {
  const headings: string[] = []
  const found: Omit<Explanation, 'example'>[] = []
  const examples = new Map<string, CodeExample>()
  for (const line of page.split('\n')) {
    const [, marks, heading] = /^(#{2,3}) (.+)$/.exec(line) ?? []
    if (marks !== undefined && heading !== undefined) headings.splice(marks.length - 2, 2, heading)
    const cells = readCells(line)
    const index = cells.findIndex((cell) => /^`[A-Z0-9_]{3,}`/.test(cell))
    if (index === -1) continue
    const codes = [...(cells[index] ?? '').matchAll(/`([A-Z0-9_]+)`/g)].flatMap(
      ([, code]) => code ?? [],
    )
    const [text = '', right = ''] = cells.slice(index + 1).map(plainText)
    const status = index === 0 ? undefined : cells[0]
    const section = headings.join(', ')
    for (const code of codes)
      if (section === examplesHeading)
        examples.set(code, { wrong: withoutMarks(text), right: withoutMarks(right) })
      else found.push({ code, section, status, text })
  }
  return found.map((one) => ({ ...one, example: examples.get(one.code) }))
}

/** @returns the cells of a row of a table; none for other lines */
function readCells(line: string): string[] {
  if (!line.startsWith('|')) return []
  const cells = line.split(/(?<!\\)\|/).slice(1, -1)
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'))
}

/** Removes the Markdown of code. */
function withoutMarks(code: string): string {
  return code.replace(/^`|`$/g, '')
}

/** Removes the Markdown of links. */
function plainText(text: string): string {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
}

function explanationToText({ code, section, status, text, example }: Explanation): string {
  const origin = status === undefined ? section : `${section}, status ${status}`
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.:]$/.test(text) ? '' : '.'}`
  const exampleLines =
    example === undefined ? '' : `\n  Wrong:  ${example.wrong}\n  Right:  ${example.right}\n`
  return `${code} (${origin})\n  ${sentence}\n${exampleLines}`
}
