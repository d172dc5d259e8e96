/** `filigree/access-log`: one JSON line per request, at level info, when the response is complete or the client has left. It contains the pattern of the route, not the path. */
import {
  ApplicationState,
  createModule,
  logFieldsOf,
  rejectUnknownOptions,
  type HttpRequest,
  type Problem,
  type RequestOutcome,
} from '../../index.js'
import { LineWriter, roundToHundredths } from './line-writer.js'
import { Redaction } from './redaction.js'

export interface AccessLogOptions {
  /** The share of requests that are logged, from 0 to 1. Responses with 500 and more are always logged. Default 1. */
  sample?: number
  /**
   * Request headers to log. A list of names: these headers with their values. True: the names of all headers, and the values of harmless ones such as `user-agent`.
   * Default none; true if `redact` is set.
   */
  headers?: boolean | readonly string[]
  /** True: logs the query by name. Default false; true if `redact` is set. */
  query?: boolean
  /** Names of headers and query parameters whose values are hidden, in addition to tokens and passwords. */
  redact?: readonly string[] | { headers?: readonly string[]; query?: readonly string[] }
}

/** Logs every request. */
export const accessLog = createModule(function accessLog(options: AccessLogOptions = {}) {
  const problems = findProblems(options)
  const { sample = 1, redact } = problems.length > 0 ? {} : options
  const { headers = redact !== undefined, query = redact !== undefined } = options
  const redaction = new Redaction(redact)
  const hasDetails = headers !== false || query

  class AccessLog {
    static inject = [ApplicationState]
    readonly #state: ApplicationState
    readonly #lines = new LineWriter()
    #stopObserving: (() => void) | undefined

    constructor(state: ApplicationState) {
      this.#state = state
    }

    onStart(): void {
      const { log } = this.#state
      if (log.isLevelEnabled?.('info') === false) return
      const { deferred: deferred } = log
      this.#stopObserving = this.#state.observe({
        // Reading the id sends it to the client, which can then refer to the log line.
        begins: (request) => {
          readId(request)
        },
        ends: (request, outcome) => {
          const { status } = outcome
          if (status < 500 && sample < 1 && Math.random() >= sample) return
          const details = hasDetails ? this.#details(request) : undefined
          if (deferred === undefined) {
            log.info(
              Object.assign(createLine(request, outcome), logFieldsOf(request), details),
              'request',
            )
            return
          }
          deferred.add(this.#lines.write(request, outcome, details))
          if (status >= 500) deferred.flush()
        },
      })
    }

    onStop(): void {
      this.#stopObserving?.()
      this.#state.log.deferred?.flush()
    }

    #details(request: HttpRequest): object {
      return {
        ...(headers === false ? {} : { headers: redaction.headers(request, headers) }),
        ...(query ? { query: redaction.query(request) } : {}),
      }
    }
  }

  return { problems, providers: [AccessLog] }
})

/** Reading the id sends it. */
function readId(request: HttpRequest): string {
  return request.id
}

function createLine(request: HttpRequest, { status, ms, bytes, aborted }: RequestOutcome): object {
  const line = {
    requestId: request.id,
    method: request.method,
    route: request.route?.path ?? null,
    status,
    ms: roundToHundredths(ms),
    bytes,
    userId: request.user?.sub,
    address: request.ip,
  }
  return aborted ? { ...line, aborted } : line
}

const optionNames: readonly string[] = ['sample', 'headers', 'query', 'redact']

function findProblems(options: AccessLogOptions): Problem[] {
  const unknown = rejectUnknownOptions(options, optionNames, 'accessLog')
  const { redact } = options as { redact?: unknown }
  if (typeof redact === 'object' && !Array.isArray(redact))
    unknown.push(...rejectUnknownOptions(redact, ['headers', 'query'], 'accessLog redact'))
  const invalid = Object.entries(options).flatMap(([name, value]: [string, unknown]) => {
    const remedy = fixFor(name, value)
    if (remedy === undefined) return []
    const message = `accessLog: ${name} is ${JSON.stringify(value)}.`
    return [{ code: 'INVALID_OPTION', message, remedy }]
  })
  return [...unknown, ...invalid]
}

function fixFor(name: string, value: unknown): string | undefined {
  if (value === undefined || !optionNames.includes(name)) return undefined
  switch (name) {
    case 'sample':
      return typeof value === 'number' && value >= 0 && value <= 1
        ? undefined
        : 'Write a share from 0 to 1: 0.1 logs every tenth request.'
    case 'headers':
      return typeof value === 'boolean' || isListOfNames(value)
        ? undefined
        : 'Write true, or a list of names.'
    case 'query':
      return typeof value === 'boolean' ? undefined : 'Write true or false.'
    default:
      return isRedact(value) ? undefined : "Write names: ['token', 'x-secret']."
  }
}

function isRedact(value: unknown): boolean {
  if (isListOfNames(value)) return true
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { headers = [], query = [] } = value as { headers?: unknown; query?: unknown }
  return isListOfNames(headers) && isListOfNames(query)
}

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}
