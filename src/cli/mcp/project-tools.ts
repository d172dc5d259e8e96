/**
 * Tools that describe the application: its routes, records, requests and configuration. Each call runs in a child process
 * with a time limit, so that it reads the current sources, and nothing that the application has opened remains.
 */

import type { ApplicationPlan } from '../../bootstrap/plan-application.js'
import type { Terminal } from '../command.js'
import { diagnose } from '../commands/doctor.js'
import { explainOperation } from '../commands/explain-graphql.js'
import { explainRoute, readRequest } from '../commands/explain-route.js'
import {
  describeRecords,
  listRoutes,
  type DescribedRecord,
  type ListedRoute,
} from '../describe-application.js'
import { childEnvironment, endGroup, programFile, spawnNode } from '../dev/child-process.js'
import { isJobRecord } from '../../bootstrap/learn-secrets.js'
import { Redactor } from '../../serving/redaction/redactor.js'
import { withoutPasswords } from '../../core/secrets.js'
import {
  loadApplication,
  loadPlan,
  openForReading,
  type ReadDatabase,
} from '../load-application.js'
import {
  ToolError,
  type ApplicationQuery,
  type QueryApplication,
  parseJson,
  tool,
  type Tool,
} from './tool.js'
import { isMap } from '../../core/json.js'
import { Field } from '../../fields/field.js'

class RoutesInput {
  @Field('string', {
    maxLength: 200,
    optional: true,
    description: 'Only routes whose method, path or handler contains this text.',
  })
  contains?: string
  @Field('integer', { min: 1, max: 1000, default: 200 }) limit!: number
}

class RecordsInput {
  @Field('string', { maxLength: 200, optional: true, description: 'Only the record of this name.' })
  name?: string
}

const claims =
  'Claims of the caller, {"sub":"7","roles":["admin"]}. Default: a caller without a token.'

class RouteInput {
  @Field('string', {
    default: 'GET',
    maxLength: 10,
    description: 'The HTTP method.',
  })
  method!: string
  @Field('string', { maxLength: 4000, pattern: /^\//, description: 'The path: /tickets/7.' })
  path!: string
  @Field('json', { optional: true, description: claims }) as?: unknown
}

class OperationInput {
  @Field('string', {
    maxLength: 20_000,
    minLength: 1,
    description: 'The document: { tickets { title } }.',
  })
  query!: string
  @Field('json', { optional: true, description: claims }) as?: unknown
}

class DoctorInput {
  @Field('boolean', {
    default: false,
    description: 'Checks the settings that production requires, without the database.',
  })
  production!: boolean
}

export const projectTools: readonly Tool[] = [
  tool({
    name: 'routes',
    title: 'Routes',
    description:
      "Lists the routes: method, path, handler and who may call them, the application's own routes first.",
    input: RoutesInput,
    run: async ({ contains, limit }, { queryApplication }, signal) => {
      const all = (await queryApplication({ about: 'routes' }, signal)) as readonly ListedRoute[]
      const found = all.filter(
        ({ method, path, name }) =>
          contains === undefined || `${method} ${path} ${name}`.includes(contains),
      )
      return { value: { routes: found.slice(0, limit), total: found.length } }
    },
  }),
  tool({
    name: 'records',
    title: 'Records',
    description:
      'Lists the tables: fields with their kinds and attributes, relations, the interfaces through which clients reach them, and who may read and write.',
    input: RecordsInput,
    run: async ({ name }, { queryApplication }, signal) => {
      const all = (await queryApplication(
        { about: 'records' },
        signal,
      )) as readonly DescribedRecord[]
      return { value: { records: all.filter((one) => name === undefined || one.name === name) } }
    },
  }),
  tool({
    name: 'explain_request',
    title: 'Explain a request',
    description:
      'Shows which route matches a method and path, why similar routes do not, and the steps before the handler: gate, checks, interceptors, rights and rows of this caller. Nothing is run.',
    input: RouteInput,
    run: async ({ method, path, as }, { queryApplication }, signal) => {
      const request = { about: 'route', method, path, as: toClaims(as) } as const
      return { value: { explained: await queryApplication(request, signal) } }
    },
  }),
  tool({
    name: 'explain_graphql',
    title: 'Explain a GraphQL operation',
    description:
      "Shows the cost of an operation, who may query its fields, and the SQL of a query with the database's plan. The query runs as this caller with the application's resolvers in a read-only transaction, which is rolled back. Mutations are not run.",
    input: OperationInput,
    run: async ({ query, as }, { queryApplication }, signal) => {
      const request = { about: 'operation', query, as: toClaims(as) } as const
      return { value: { explained: await queryApplication(request, signal) } }
    },
  }),
  tool({
    name: 'doctor',
    title: 'Check the project',
    description:
      'Checks Node.js, the compiler, the declarations, keys, migrations, the database with its slow queries, and what is open to everybody. Changes nothing.',
    input: DoctorInput,
    run: async ({ production }, { queryApplication }, signal) => ({
      value: { findings: await queryApplication({ about: 'doctor', production }, signal) },
    }),
  }),
]

type Claims = Readonly<Record<string, unknown>>

/** Reads claims. Some clients send an object as JSON text. */
function toClaims(input: unknown): Claims | undefined {
  if (input === undefined || input === null) return undefined
  const value = typeof input === 'string' ? parseJson(input) : input
  if (isMap(value)) return value
  throw new ToolError('as must be an object of claims: {"sub":"7","roles":["admin"]}.')
}

// Queries, which run in child processes.

/** From the server to a child process. */
export interface QueryMessage {
  readonly query: ApplicationQuery
  readonly module: string | undefined
}

/** From a child process to the server. */
export type ResultMessage =
  | { readonly is: 'result'; readonly value: unknown }
  | { readonly is: 'error'; readonly text: string }

/** Child processes at a time, milliseconds of a query, and characters of stderr in an error. */
const limits = { processes: 2, ms: 60_000, stderrLength: 2000 }

/** @param module the file with the application's module. Default: `filigree.module` in package.json */
export function createQuery(cwd: string, module: string | undefined): QueryApplication {
  let running = 0
  const waiting: (() => void)[] = []
  return async (query, signal) => {
    while (running >= limits.processes)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
      })
    running += 1
    try {
      return await runChild(cwd, { query, module }, signal)
    } finally {
      running -= 1
      waiting.shift()?.()
    }
  }
}

function runChild(
  cwd: string,
  message: QueryMessage,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const env = childEnvironment(cwd)
  const args = ['--enable-source-maps', programFile('./mcp-child.js', '../mcp/child.ts')]
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(new ToolError('Cancelled.'))
      return
    }
    // Standard output is ignored. Standard error can say why the process ended.
    const child = spawnNode(args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    const end = (reason?: string): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
      endGroup(child, 'SIGKILL')
      if (reason !== undefined) reject(new ToolError(reason))
    }
    const cancel = (): void => {
      end('Cancelled.')
    }
    const timer = setTimeout(() => {
      end(
        `The application was not loaded within ${limits.ms / 1000} s. A module waits for something, or runs an endless loop.`,
      )
    }, limits.ms)
    signal?.addEventListener('abort', cancel)
    let stderr = ''
    child.stderr?.on(
      'data',
      (data: Buffer) => (stderr = `${stderr}${data.toString()}`.slice(-limits.stderrLength)),
    )
    child.on('message', (received: unknown) => {
      // The application can send messages of its own, which are ignored.
      const result = (received ?? {}) as Partial<ResultMessage>
      if (result.is === 'error') end(result.text)
      else if (result.is === 'result') {
        resolve(result.value)
        end()
      }
    })
    child.on('error', (error) => {
      end(`Node.js cannot be started: ${error.message}`)
    })
    child.on('close', (code) => {
      const text = new Redactor(env).text(stderr)
      // A process that ends itself reports that, a process that is killed does not.
      const killed = code === null ? 'The application was killed while it was loading. ' : ''
      end(`${killed}${text}`.trim() || `The application ended with code ${code}.`)
    })
    try {
      child.send(message)
    } catch {
      end('The arguments are nested too deeply.')
    }
  })
}

/** @returns the result without secrets */
export async function runQuery(
  query: ApplicationQuery,
  module: string | undefined,
  terminal: Terminal,
): Promise<unknown> {
  const redactor = new Redactor(process.env)
  if (query.about === 'doctor') {
    const application = await loadApplication(module, terminal)
    return withoutSecrets(await diagnose(application, query.production, terminal), redactor)
  }
  const { plan, options } = await loadPlan(module, terminal)
  redactor.learn(plan.records.filter((type) => !isJobRecord(type)))
  const open = () => openForReading(plan, options.database, terminal)
  return withoutSecrets(await queryPlan(query, plan, open), redactor)
}

function queryPlan(
  query: Exclude<ApplicationQuery, { about: 'doctor' }>,
  plan: ApplicationPlan,
  open: () => Promise<ReadDatabase>,
): unknown {
  switch (query.about) {
    case 'routes':
      return listRoutes(plan)
    case 'records':
      return describeRecords(plan)
    case 'route': {
      const { method, path } = readRequest(query.method, query.path)
      return explainRoute(plan, method, path, query.as)
    }
    case 'operation':
      return explainOperation(plan, query.query, query.as, open)
  }
}

/** Redacts all texts of a value, except the names of its members. */
function withoutSecrets(value: unknown, redactor: Redactor, name = ''): unknown {
  if (typeof value === 'string') {
    const redacted = name === 'sql' ? redactor.sql(value, false) : redactor.text(value)
    return withoutPasswords(redacted)
  }
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, redactor, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withoutSecrets(one, redactor, key)]),
  )
}
