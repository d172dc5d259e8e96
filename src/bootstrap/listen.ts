/** Opens the port: a server of this process, or workers with one each. */
import { HttpError } from '../errors/http-error.js'
import type { Log } from '../http/log.js'
import { createNodeServer } from '../http/server.js'
import type { Dispatcher } from './dispatcher.js'
import type { Settings } from './options.js'
import { startsWorkers, startWorkers } from './workers.js'

export interface Listener {
  readonly url: string
  close(): Promise<void>
}

export interface ListenOptions {
  readonly settings: Settings
  readonly dispatcher: Dispatcher
  /** Headers of the answers to what is no request, names and values in turn. */
  readonly faultHeaders: readonly string[]
  readonly log: Log
}

/** @returns `undefined` for an application that opens no port; rejects when the port is taken */
export async function listen(options: ListenOptions): Promise<Listener | undefined> {
  const { settings, dispatcher, faultHeaders, log } = options
  if (!settings.listen) return undefined
  if (startsWorkers(settings.workers)) return startWorkers(settings.workers, log)
  const server = createNodeServer({
    times: settings.times,
    faultHeaders,
    serve: (incoming, outgoing) => {
      dispatcher.serve(incoming, outgoing)
    },
    refuseExpectation: (incoming, outgoing) => {
      const refusal = new HttpError(417, 'Only 100-continue can be expected.')
      dispatcher.refuse(incoming, outgoing, refusal)
    },
  })
  const url = await server.listen(settings.port, settings.host)
  return { url, close: () => server.close() }
}
