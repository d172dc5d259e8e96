/** `filigree work`: runs the jobs of an application in a process of its own. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Application } from '../../bootstrap/application.js'
import { bootstrap } from '../../bootstrap/bootstrap.js'
import { collectParts } from '../../bootstrap/module.js'
import { closeWithProcess } from '../../bootstrap/signals.js'
import { ApplicationState } from '../../serving/application-state.js'
import { type Command, exitCodes, UsageError, type Terminal, readArguments } from '../command.js'
import { findJobRecord } from '../open-database.js'
import { loadApplication } from '../load-application.js'

const usage = `filigree work [module.js] [--only Mail,Reports] [--concurrency 10] [--port 9400] [--host 127.0.0.1]
  Runs the jobs of the application until it is told to stop (SIGTERM, Ctrl+C); running ones may finish.
  --only            classes or names of jobs, separated by commas; all others wait for other processes
  --concurrency     how many run at once; default: what jobs() says, else 10
  --port            serves /health and /metrics, as the application's modules do; 0 takes any. Default: none`

export const workCommand: Command = {
  usage,
  summary: 'runs the jobs of the application, in a process of its own',
  run,
}

/** Milliseconds for closing the application after an uncaught error. */
const shutdownTimeout = 15_000

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const kinds = { only: 'text', concurrency: 'text', port: 'text', host: 'text' } as const
  const { values, positionals } = readArguments(args, kinds)
  const concurrency = readNumber('--concurrency', values.concurrency, 1)
  const port = readNumber('--port', values.port, 0)
  const only = values.only
    ?.split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  const { module, options } = await loadApplication(positionals[0], terminal)
  findJobRecord(collectParts(module, []).records)
  const jobOptions = {
    work: true,
    ...(only === undefined ? {} : { only }),
    ...(concurrency === undefined ? {} : { concurrency }),
  }
  const override = [...(options.override ?? []), ['filigree.jobs.asked', jobOptions] as const]
  const app = await bootstrap(module, { ...options, listen: false, override })
  const { log } = app.get(ApplicationState)
  const server =
    port === undefined
      ? undefined
      : await serve({ app, prefix: options.basePath ?? '' }, port, values.host)
  const ended = new Promise<void>((resolve) => {
    const closable = {
      close: async () => {
        await app.close()
        server?.close()
        server?.closeAllConnections()
        resolve()
      },
    }
    closeWithProcess(closable, { log, timeout: shutdownTimeout })
  })
  const address = server?.address() as AddressInfo | null | undefined
  const at = address
    ? `; health and metrics at http://${values.host ?? '127.0.0.1'}:${address.port}`
    : ''
  log.info({ only, concurrency }, `working${at}`)
  await ended
  return exitCodes.done
}

function readNumber(option: string, text: string | undefined, min: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,6}$/.test(text) && Number(text) >= min) return Number(text)
  throw new UsageError(`${option} ${text} is no number from ${min}.`)
}

/** Serves only the operational routes, such as /metrics, and /health. */
async function serve(
  { app, prefix }: Pick<Served, 'app' | 'prefix'>,
  port: number,
  host = '127.0.0.1',
): Promise<Server> {
  const paths = new Set(app.routes.filter(({ operational }) => operational).map(({ path }) => path))
  const server = createServer((incoming, outgoing) => {
    respond({ app, prefix, paths }, incoming, outgoing).catch(() => outgoing.destroy())
  })
  server.listen(port, host)
  await once(server, 'listening')
  return server
}

interface Served {
  readonly app: Application
  /** The application's prefix of paths. This server has none. */
  readonly prefix: string
  readonly paths: ReadonlySet<string>
}

async function respond(
  { app, prefix, paths }: Served,
  { method = 'GET', url = '/', headers }: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const [path = '/'] = url.split('?')
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead || (!paths.has(path) && path !== '/health')) {
    outgoing.writeHead(404).end()
    return
  }
  if (!paths.has(path)) return respondHealth(app, outgoing)
  const sent: Record<string, string> = {}
  if (headers.accept !== undefined) sent.accept = headers.accept
  if (headers.authorization !== undefined) sent.authorization = headers.authorization
  const response = await app.inject({ method, url: prefix + url, headers: sent })
  outgoing.writeHead(response.status, response.headers).end(response.bytes)
}

/** Responds to /health if the application has no health module: the application runs and reaches its database. */
async function respondHealth(app: Application, outgoing: ServerResponse): Promise<void> {
  const { closing, database } = app.get(ApplicationState)
  const isHealthy =
    !closing &&
    (await (database?.check() ?? Promise.resolve()).then(
      () => true,
      () => false,
    ))
  const type = { 'Content-Type': 'application/json' }
  outgoing.writeHead(isHealthy ? 200 : 503, type).end(JSON.stringify({ ok: isHealthy }))
}
