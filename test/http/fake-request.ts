/** A request without a connection. */
import { createIncoming } from '../../src/http/in-memory/fake-request.js'
import { FakeResponse } from '../../src/http/in-memory/fake-response.js'
import { ServerRequest } from '../../src/http/server-request.js'

export type { ServerRequest }

interface FakeRequest {
  /** Default GET. */
  readonly method?: string
  /** The path and the query. Default `/`. */
  readonly url?: string
  readonly headers?: Iterable<readonly [string, string]>
  readonly remoteAddress?: string
}

type Settings = ConstructorParameters<typeof ServerRequest>[2]

/** @param settings by default no proxy is trusted */
export function fakeRequest(
  { method = 'GET', url = '/', headers = [], ...rest }: FakeRequest = {},
  settings: Settings = { trustProxy: false },
): ServerRequest {
  const incoming = createIncoming({ method, url, headers, body: undefined, ...rest })
  return new ServerRequest(incoming, new FakeResponse(), settings)
}
