/** `filigree work`: runs the jobs of an application in a separate process. */
import { Problems } from '../../errors/problems.js'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type Application, closeWithProcess } from '../../bootstrap/application.js'
import { bootstrap } from '../../bootstrap/bootstrap.js'
import { collectParts } from '../../bootstrap/module.js'
import { ApplicationState } from '../../serving/application-state.js'
import { defineCommand, moduleFileOf, moduleOption, option, readInteger } from '../command.js'
import { findJobRecord, loadApplication } from '../load-application.js'

export const workCommand = defineCommand({
  group: 'Operate',
  usage: 'filigree work [file]',
  summary: 'runs the jobs in a separate process',
  description: `Runs the jobs of the application until the process gets SIGTERM or Ctrl+C. Jobs that are running can finish.`,
  options: {
    only: option(
      '<names>',
      'classes or names of jobs, separated by commas. Other jobs wait for other processes',
    ),
    concurrency: option(
      '<number>',
      'the number of jobs that run at the same time. Default: the option of jobs(), or 10',
    ),
    port: option(
      '<number>',
      'serves /health and /metrics on this port. 0 uses any free port. Default: none',
    ),
    host: option('<address>', 'the address of --port. Default: 127.0.0.1'),
    module: moduleOption,
  },
  examples: ['filigree work', 'filigree work --only Mail,Reports --concurrency 4 --port 9400'],
  run: async (args, terminal) => {
    const { values } = args
    const concurrency =
      values.concurrency === undefined
        ? undefined
        : readInteger('--concurrency', values.concurrency)
    const port = values.port === undefined ? undefined : readInteger('--port', values.port, 0)
    const only = values.only
      ?.split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
    const file = moduleFileOf(args)
    const { module, options } = await loadApplication(file, terminal)
    findJobRecord(collectParts(module, new Problems()).records)
    const jobOptions = {
      work: true,
      ...(only === undefined ? {} : { only }),
      ...(concurrency === undefined ? {} : { concurrency }),
    }
    const override = [...(options.override ?? []), ['filigree.jobs.overrides', jobOptions] as const]
    const app = await bootstrap(module, { ...options, listen: false, override })
    const state = app.get(ApplicationState)
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
      closeWithProcess(closable, { state, timeout: shutdownTimeout })
    })
    const address = server?.address() as AddressInfo | null | undefined
    const at = address
      ? `; health and metrics at http://${values.host ?? '127.0.0.1'}:${address.port}`
      : ''
    state.log.info({ only, concurrency }, `working${at}`)
    await ended
    return !state.failedToStop
  },
})

/** Milliseconds for closing the application after an uncaught error. */
const shutdownTimeout = 15_000

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
