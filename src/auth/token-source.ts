/**
 * Custom sources of tokens: `auth: { scheme }` or `auth: { read }`. `Authorization: Bearer …` is accepted in addition,
 * because MCP clients, WebSockets and tests send it.
 */
import { ServerRequest } from '../http/server-request.js'
import type { HttpRequest } from '../http/request.js'
import { createIncoming, FakeResponse } from '../http/node-messages.js'

/** Reads the token of a request: `(request) => request.headers['x-token']`. Undefined or empty: the request has none. */
export type ReadToken = (request: HttpRequest) => string | undefined

export interface TokenSource {
  /** The scheme in `Authorization`, as it is written in responses. Default: `Bearer`. */
  readonly scheme?: string | undefined
  readonly read?: ReadToken | undefined
  /** The first location that `read` reads; undefined if it is neither a header nor a query parameter. */
  readonly location?: TokenLocation | undefined
}

export interface TokenLocation {
  readonly in: 'header' | 'query' | 'cookie'
  readonly name: string
}

/**
 * Calls `read` with a request that has no headers, as it is called for every anonymous caller.
 *
 * @returns what it looks at, in this order
 * @throws what it throws, and TypeError if it returns a promise or a value that is neither text nor undefined
 */
export function findTokenLocations(read: ReadToken): readonly TokenLocation[] {
  const locations: TokenLocation[] = []
  const incoming = createIncoming({ method: 'GET', url: '/', headers: [], body: undefined })
  const request = new ServerRequest(incoming, new FakeResponse(), { trustProxy: false })
  const watched = (location: TokenLocation['in']): object =>
    new Proxy(Object.create(null) as object, {
      get: (_, name) => {
        if (typeof name !== 'string') return undefined
        const isCookie = location === 'header' && name.toLowerCase() === 'cookie'
        locations.push(isCookie ? { in: 'cookie', name } : { in: location, name })
        return undefined
      },
    })
  const overrides = {
    headers: watched('header'),
    query: watched('query'),
    cookies: watched('cookie'),
    incoming: Object.create(incoming, { headers: { value: watched('header') } }) as object,
  }
  const token: unknown = read(
    new Proxy(request, {
      get: (target, name) =>
        name in overrides
          ? overrides[name as keyof typeof overrides]
          : (Reflect.get(target, name, target) as unknown),
    }),
  )
  if (token === undefined || token === null || typeof token === 'string') return locations
  throw new TypeError(token instanceof Promise ? 'it returns a promise' : 'it returns no text')
}
