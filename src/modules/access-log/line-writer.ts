/** Writes the lines of the access log in the format of pino. Parts that are the same for many requests are cached. */
import { logFieldsOf, type HttpRequest, type RequestOutcome, type RouteInfo } from '../../index.js'

export class LineWriter {
  #now = 0
  /** The start of a line up to the time, cached for one millisecond. */
  #lineStart = ''
  #ip = ''
  /** The end of a line from the address, cached for one client or proxy. */
  #lineEnd = ''
  readonly #cachedPrefixes = new Map<RouteInfo | undefined, Map<string, string[]>>()

  /**
   * Concatenates few strings, because each one costs time.
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
      // The number is limited because clients may send any method.
      if (byMethod.size < maxMethods) byMethod.set(method, byStatus)
    }
    return (byStatus[status] ??=
      `","method":${JSON.stringify(method)},"route":${JSON.stringify(route?.path ?? null)},"status":${status},"ms":`)
  }
}

/** Characters that terminals interpret and JSON does not escape. */
const controls = /[\u007f-\u009f\u2028\u2029]/g

function toPrintableJson(fields: object): string {
  return JSON.stringify(fields).replace(
    controls,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const maxMethods = 16

/** Cached texts of durations in hundredths of a millisecond: formatting fractions is slow. */
const millisecondTexts: (string | undefined)[] = new Array<string | undefined>(10_000)

function toMillisecondsText(ms: number): string {
  const hundredths = Math.round(ms * 100)
  if (hundredths >= millisecondTexts.length) return String(hundredths / 100)
  return (millisecondTexts[hundredths] ??= String(hundredths / 100))
}

export function roundToHundredths(ms: number): number {
  return Math.round(ms * 100) / 100
}
