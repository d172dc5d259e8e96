/**
 * Queries of the tools to the application. Each one runs in a child process with a time limit, so that it reads the current
 * sources, and nothing that the application has opened remains.
 */
import { planApplication, type ApplicationPlan } from '../../bootstrap/plan-application.js'
import { methods } from '../../routing/route-table.js'
import { UsageError, type Terminal } from '../command.js'
import { diagnose } from '../commands/doctor.js'
import { explainOperation } from '../commands/explain-graphql.js'
import { explainRoute } from '../commands/explain-route.js'
import { describeRecords, listRoutes } from '../describe-application.js'
import { childEnvironment, endGroup, programFile, spawnNode } from '../dev/child-process.js'
import { Redactor } from '../dev/redactor.js'
import { withoutPasswords } from '../../core/secrets.js'
import { loadApplication, type LoadedApplication } from '../load-application.js'
import { isJobRecord, openForReading } from '../open-database.js'
import { ToolError, type ApplicationQuery, type QueryApplication } from './tool.js'

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
      end(
        `The application ended its process (${code ?? 'killed'}) while it was loading. ${text}`.trim(),
      )
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
  const loaded = await loadApplication(module, terminal)
  if (query.about === 'doctor')
    return withoutSecrets(await diagnose(loaded, query.production, terminal), redactor)
  const plan = await planApplication(loaded.module, { ...loaded.options, logger: false })
  redactor.learn(plan.records.filter((type) => !isJobRecord(type)))
  return withoutSecrets(await queryPlan(query, { plan, loaded, terminal }), redactor)
}

interface Planned {
  readonly plan: ApplicationPlan
  readonly loaded: LoadedApplication
  readonly terminal: Terminal
}

function queryPlan(
  query: Exclude<ApplicationQuery, { about: 'doctor' }>,
  { plan, loaded, terminal }: Planned,
): unknown {
  switch (query.about) {
    case 'routes':
      return listRoutes(plan)
    case 'records':
      return describeRecords(plan)
    case 'route': {
      const method = query.method.toUpperCase()
      if (!['HEAD', ...methods].includes(method))
        throw new UsageError(`${query.method} is not a method. Methods: ${methods.join(', ')}.`)
      return explainRoute(plan, method, query.path.replace(/[?#].*$/s, ''), query.as)
    }
    case 'operation': {
      const open = () => openForReading(plan, loaded.options.database, terminal)
      return explainOperation(plan, query.query, query.as, open)
    }
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
