/**
 * The child process of `filigree dev` that runs the application. It is started in advance and loads everything except the
 * application. Then it waits for the message that names the program.
 */
import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'
import { setDevelopmentHost } from '../../bootstrap/cli-hooks.js'
import { DeclarationError } from '../../errors/declaration-error.js'
import { graphqlLibrary } from '../../graphql/library.js'
import { reachable } from '../../routing/route.js'
import { listPages } from '../describe-application.js'
import { describeError, reportError, summarizeError } from '../describe-error.js'
import { startExportedModule } from '../load-application.js'
import { isSource } from '../project-files.js'
import { ChildPort } from './shared-port.js'
import type {
  BeginMessage,
  ChildMessage,
  ExplainMessage,
  ListeningSocket,
} from './child-process.js'
import { DevelopmentMonitor } from './development-monitor.js'

const port = new ChildPort()
const onMessage = (received: unknown, handle: unknown): void => {
  const message = received as BeginMessage | ExplainMessage
  const socket = handle as ListeningSocket | undefined
  void port.explain(message.is === 'explain' ? message : undefined, socket)
  if (message.is === 'explain') return
  // From now on all messages are for the program.
  process.off('message', onMessage)
  if (message.address !== undefined && socket !== undefined) port.receive(message.address, socket)
  void begin(message)
}
process.on('message', onMessage)
// Modules that every application loads.
await import('../../bootstrap/bootstrap.js')
graphqlLibrary()

async function begin({ file, named, reportsEvents, secret }: BeginMessage): Promise<void> {
  // Programs see the arguments as if they had been started directly.
  process.argv.splice(1, process.argv.length, file)
  const fail = (error: unknown): void => {
    const entry = isSource(file) ? file : undefined
    const report = describeError(`${named} cannot start`, error, { entry })
    const { redactor } = monitor.recorder
    const show = (text: string): string => redactor.text(text)
    // The report of configuration problems has their source lines.
    const withSource = error instanceof DeclarationError ? null : reportError(error, show)
    const summary = summarizeError(error, show)
    send({ is: 'failed', report, summary, error: withSource, port: takenPort(error) })
  }
  process.on('uncaughtExceptionMonitor', fail)
  const monitor = new DevelopmentMonitor({
    portHandover: port,
    secret,
    started: ({ plan }, url) => {
      process.off('uncaughtExceptionMonitor', fail)
      const served = Object.values(plan.settings.static).map(({ folder }) => resolve(folder))
      const { names: secrets } = monitor.recorder.redactor
      port.started()
      const { usesSharedSocket } = port
      send({
        is: 'started',
        url,
        usesSharedSocket,
        pages: listPages(plan),
        routes: reachable(plan.routes).length,
        served,
        secrets,
      })
    },
    ...(reportsEvents && {
      request: (request: object) => {
        send({ is: 'request', request })
      },
      job: (job: object) => {
        send({ is: 'job', job })
      },
    }),
  })
  setDevelopmentHost(monitor)
  const end = (error: unknown): void => {
    fail(error)
    // Wait until the message is sent.
    setTimeout(() => process.exit(1), 50)
  }
  try {
    const exported = (await import(pathToFileURL(file).href)) as Record<string, unknown>
    // A file that only exports the module has nothing more to do.
    process.once('beforeExit', () => {
      startExportedModule(exported).catch(end)
    })
  } catch (error) {
    end(error)
  }
}

function send(message: ChildMessage): void {
  process.send?.(message)
}

/** The number of the port, if the application failed because its port is in use. */
function takenPort(error: unknown): number | undefined {
  if (!(error instanceof DeclarationError)) return undefined
  const problem = error.problems.find(({ code }) => code === 'PORT_TAKEN')
  const port = /port (\d+)/.exec(problem?.message ?? '')?.[1]
  return port === undefined ? undefined : Number(port)
}
