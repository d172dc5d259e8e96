/** What an answer depends on of its caller: answers of equal questions are one only where this is equal too. */
import type { Claims, HttpRequest } from '../http/request.js'

/** `nothing`: the same for all. `claims`: all that a token says. `all`: whatever code can read of a request. */
export type RightsDepth = 'nothing' | 'claims' | 'all'

interface Asking {
  readonly claims: Claims | null | undefined
  readonly byKey: boolean
  readonly request: Pick<HttpRequest, 'headers' | 'ip' | 'secure'> | undefined
}

/** Headers of the journey, which say nothing of the caller. */
const ofJourney: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'cache-control', 'connection', 'content-length'],
  ...['content-type', 'last-event-id', 'pragma', 'transfer-encoding'],
])

export function rightsKey({ claims, byKey, request }: Asking, depth: RightsDepth): unknown {
  if (depth === 'nothing') return null
  const who = byKey ? 'key' : sorted(claims ?? {}, none)
  const isKnown = byKey || (claims !== undefined && claims !== null)
  if (depth !== 'all' || request === undefined) return [isKnown, who]
  const { headers, ip, secure } = request
  return [isKnown, who, ip, secure, sorted(headers, ofJourney)]
}

const none: ReadonlySet<string> = new Set()

function sorted(values: object, without: ReadonlySet<string>): [string, unknown][] {
  return (Object.entries(values) as [string, unknown][])
    .filter(([name]) => !without.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
}
