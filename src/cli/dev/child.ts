/**
 * The process of `filigree dev` that an application runs in. It is started before it is needed, and loads everything
 * but the application; then it waits for the program's name.
 */
import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'
import { invite } from '../../bootstrap/guest.js'
import { DeclarationError } from '../../errors/declaration-error.js'
import { graphqlLibrary } from '../../graphql/library.js'
import { reachable } from '../../routing/route.js'
import { describeFailure } from '../describe-error.js'
import { ChildPort, type ListeningSocket } from './shared-port.js'
import type { BeginMessage, ChildMessage, ExplainMessage } from './child-process.js'
import { DevelopmentGuest } from './development-host.js'

const port = new ChildPort()
const heed = (message: unknown, socket: unknown): void => {
  const told = message as BeginMessage | ExplainMessage
  const given = socket as ListeningSocket | undefined
  port.explain(told.is === 'explain' ? told : undefined, given)
  if (told.is === 'explain') return
  // Whatever the program sends and gets is its own.
  process.off('message', heed)
  if (told.place !== undefined && given !== undefined) port.give(told.place, given)
  void begin(told)
}
process.on('message', heed)
// What every application loads.
await import('../../bootstrap/bootstrap.js')
graphqlLibrary()

async function begin({ file, named, tells, secret }: BeginMessage): Promise<void> {
  // As if it had been started by itself.
  process.argv.splice(1, process.argv.length, file)
  const fail = (error: unknown): void => {
    const report = describeFailure(`${named} cannot start`, error)
    tell({ is: 'failed', report, port: takenPort(error) })
  }
  process.on('uncaughtExceptionMonitor', fail)
  const guest = new DevelopmentGuest({
    ...{ keeper: port, secret },
    started: ({ plan }, url) => {
      process.off('uncaughtExceptionMonitor', fail)
      const served = Object.values(plan.settings.static).map(({ folder }) => resolve(folder))
      const { names: secrets } = guest.recorder.redactor
      port.started()
      const { isKept } = port
      tell({ is: 'started', url, isKept, routes: reachable(plan.routes).length, served, secrets })
    },
    ...(tells && {
      request: (request: object) => {
        tell({ is: 'request', request })
      },
      job: (job: object) => {
        tell({ is: 'job', job })
      },
    }),
  })
  invite(guest)
  try {
    await import(pathToFileURL(file).href)
  } catch (error) {
    fail(error)
    // The message goes first.
    setTimeout(() => process.exit(1), 50)
  }
}

function tell(message: ChildMessage): void {
  process.send?.(message)
}

/** The port that is not free, if that is what is wrong. */
function takenPort(error: unknown): number | undefined {
  if (!(error instanceof DeclarationError)) return undefined
  const taken = error.problems.find(({ code }) => code === 'PORT_TAKEN')
  const port = /port (\d+)/.exec(taken?.message ?? '')?.[1]
  return port === undefined ? undefined : Number(port)
}
