/** Writes the lines of the access log, as pino would: what is the same for all requests of a route is written once. */
import { logFieldsOf, type HttpRequest, type RequestOutcome, type RouteInfo } from '../../index.js'

export class LineWriter {
  #now = 0
  /** Up to and with the time, which is the same for all lines of a millisecond. */
  #lineStart = ''
  #ip = ''
  /** From the address on, which is the same for many lines of a client or a proxy. */
  #lineEnd = ''
  readonly #cachedPrefixes = new Map<RouteInfo | undefined, Map<string, string[]>>()

  /**
   * Of few pieces: each costs as much as a short line of code.
   *
   * @param details further fields, if any
   */
  write(request: HttpRequest, outcome: RequestOutcome, details: object | undefined): string {
    const { status, ms, bytes, aborted } = outcome
    const fields = logFieldsOf(request)
    const line = `${this.#startOfLine()}${request.id}${this.#routeText(request, status)}${toMillisecondsText(ms)},"bytes":${bytes}`
    const sub = request.user?.sub
    if (sub === undefined && fields === undefined && details === undefined && !aborted)
      return line + this.#endOfLine(request.ip)
    const extraFields = {
      ...(sub === undefined ? {} : { userId: sub }),
      ...fields,
      ...(aborted ? { aborted } : {}),
      ...details,
    }
    return `${line},${toPrintableJson(extraFields).slice(1, -1)}${this.#endOfLine(request.ip)}`
  }

  #startOfLine(): string {
    const now = Date.now()
    if (now !== this.#now) {
      this.#now = now
      this.#lineStart = `{"level":30,"time":${now},"requestId":"`
    }
    return this.#lineStart
  }

  #endOfLine(ip: string): string {
    if (ip !== this.#ip) {
      this.#ip = ip
      this.#lineEnd = `,"address":${JSON.stringify(ip)},"msg":"request"}\n`
    }
    return this.#lineEnd
  }

  #routeText({ route, method }: HttpRequest, status: number): string {
    let byMethod = this.#cachedPrefixes.get(route)
    if (byMethod === undefined)
      this.#cachedPrefixes.set(route, (byMethod = new Map<string, string[]>()))
    let byStatus = byMethod.get(method)
    if (byStatus === undefined) {
      byStatus = []
      // Clients may send any method.
      if (byMethod.size < maxMethods) byMethod.set(method, byStatus)
    }
    return (byStatus[status] ??=
      `","method":${JSON.stringify(method)},"route":${JSON.stringify(route?.path ?? null)},"status":${status},"ms":`)
  }
}

/** What terminals and viewers take for commands or ends of lines, and JSON leaves as it is. */
const controls = /[\u007f-\u009f\u2028\u2029]/g

function toPrintableJson(fields: object): string {
  return JSON.stringify(fields).replace(
    controls,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const maxMethods = 16

/** Hundredths of milliseconds as text: fractions are slow to write, and most requests take one of few times. */
const millisecondTexts: (string | undefined)[] = new Array<string | undefined>(10_000)

function toMillisecondsText(ms: number): string {
  const hundredths = Math.round(ms * 100)
  if (hundredths >= millisecondTexts.length) return String(hundredths / 100)
  return (millisecondTexts[hundredths] ??= String(hundredths / 100))
}

export function roundToHundredths(ms: number): number {
  return Math.round(ms * 100) / 100
}
