/** `filigree/access-log`: one JSON line per request, at level info, when the response is complete or the client has left. It contains the pattern of the route, not the path. */
import {
  ApplicationState,
  createModule,
  logFieldsOf,
  declareOptions,
  option,
  type HttpRequest,
  type OptionsOf,
  type RequestOutcome,
  hideShapes,
  isHarmlessHeader,
  isSecretName,
} from '../../index.js'
import { LineWriter, roundToHundredths } from './line-writer.js'

type HeaderNames = readonly string[]

const redactOptions = declareOptions({
  headers: option.of<HeaderNames>(isListOfNames, "Write names: ['x-secret']."),
  query: option.of<HeaderNames>(isListOfNames, "Write names: ['token']."),
})

const accessLogOptions = declareOptions({
  /** The share of requests that are logged, from 0 to 1. Responses with 500 and more are always logged. Default 1. */
  sample: option
    .of<number>(
      (value) => typeof value === 'number' && value >= 0 && value <= 1,
      'Write a share from 0 to 1: 0.1 logs every tenth request.',
    )
    .default(1),
  /**
   * Request headers to log. A list of names: these headers with their values. True: the names of all headers, and the values of harmless ones such as `user-agent`.
   * Default none; true if `redact` is set.
   */
  headers: option.of<boolean | HeaderNames>(
    (value) => typeof value === 'boolean' || isListOfNames(value),
    'Write true, or a list of names.',
  ),
  /** True: logs the query by name. Default false; true if `redact` is set. */
  query: option.flag(),
  /** HeaderNames of headers and query parameters whose values are hidden, in addition to tokens and passwords. */
  redact: option
    .of<HeaderNames>(isListOfNames, "Write names: ['token', 'x-secret'].")
    .or(redactOptions),
})

export interface AccessLogOptions extends OptionsOf<typeof accessLogOptions> {}

/** Logs every request. */
export const accessLog = createModule(function accessLog(options: AccessLogOptions = {}) {
  const { sample, redact, ...details } = accessLogOptions.read(options)
  const { headers = redact !== undefined, query = redact !== undefined } = details
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
      const { deferred } = log
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

  return {
    problems: accessLogOptions.findProblems(options, 'accessLog'),
    providers: [AccessLog],
  }
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

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}

const redacted = '[redacted]'

/** Headers that are hidden even if the application names them. */
const credentials =
  /^(?:(?:proxy-)?authorization|cookie|idempotency-key)$|(?:token|secret|passw(?:or)?d|passphrase|pwd|jwt|otp|signature|api[-_]?key)$/i

class Redaction {
  readonly #headers: ReadonlySet<string>
  readonly #keys: ReadonlySet<string>

  /** @param customNames hidden names in addition to the names of secrets: one list for both, or one for each */
  constructor(
    customNames:
      HeaderNames | { readonly headers?: HeaderNames; readonly query?: HeaderNames } = [],
  ) {
    const { headers = [], query = [] } = isNames(customNames)
      ? { headers: customNames, query: customNames }
      : customNames
    this.#headers = toSet(headers)
    this.#keys = toSet(query)
  }

  /** @param requested names whose values are logged; true: all headers, with the values of harmless ones */
  headers(request: HttpRequest, requested: boolean | HeaderNames): Record<string, string> {
    const names =
      requested === true ? Object.keys(request.headers) : requested === false ? [] : requested
    const logged: Record<string, string> = {}
    for (const requestedName of names) {
      const name = requestedName.toLowerCase()
      const value = request.headers[name]
      if (value === undefined) continue
      const isHidden = this.#headers.has(name) || credentials.test(name)
      if (isHidden) logged[name] = redacted
      else if (name === 'referer' || name === 'referrer') logged[name] = this.#referer(value)
      else if (requested !== true) logged[name] = value
      else logged[name] = isHarmlessHeader(name) ? hideShapes(value) : redacted
    }
    return logged
  }

  /** The query by decoded name; repeated names have a list. */
  query({ url }: HttpRequest): Record<string, string | string[]> {
    const logged = Object.create(null) as Record<string, string | string[]>
    const mark = url.indexOf('?')
    if (mark === -1) return logged
    for (const [name, text] of new URLSearchParams(url.slice(mark + 1))) {
      const value = this.#value(name, text)
      const before = logged[name]
      logged[name] = before === undefined ? value : [before, value].flat()
    }
    return logged
  }

  #value(name: string, text: string): string {
    return this.#isSecret(name) || isOperation(name, text) ? redacted : hideShapes(text)
  }

  /** Matches `token`, and forms of it: `token[]`, `user[token]`, `token.eq`. */
  #isSecret(name: string): boolean {
    const parts = name.toLowerCase().split(/[[\].\s]+/)
    return isSecretName(name) || [name.toLowerCase(), ...parts].some((part) => this.#keys.has(part))
  }

  /** The URL in `Referer` has a query, too. */
  #referer(url: string): string {
    const mark = url.indexOf('?')
    if (mark === -1) return hideShapes(url)
    const query = new URLSearchParams(url.slice(mark + 1).split('#', 1)[0])
    for (const [name, text] of [...query]) query.set(name, this.#value(name, text))
    return `${hideShapes(url.slice(0, mark))}?${query.toString()}`
  }
}

/** The document of a GraphQL operation and its variables may contain passwords: `query=mutation{signIn(password:"…")}`. */
function isOperation(name: string, value: string): boolean {
  return name.toLowerCase() === 'variables' || (name === 'query' && value.includes('{'))
}

function isNames(value: unknown): value is HeaderNames {
  return Array.isArray(value)
}

function toSet(names: HeaderNames): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()))
}
