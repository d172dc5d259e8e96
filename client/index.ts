/**
 * The browser client. Source: specification, "Browser fetch client" and Authentication 6 to 8; decisions, Browser client.
 *
 * It must fit into 1,536 bytes, gzip -9, which a test checks. Hence arrow functions, `==` and short error messages.
 */
import { originOf, toAddress } from './address.js'
import { readAnswer } from './answer.js'
import { encodeBody, isJson, plain } from './body.js'
import { mergeHeaders } from './headers.js'
import type {
  Answer,
  ClientOptions,
  Interceptor,
  RequestConfig,
  RequestOptions,
} from './options.js'
import type { Client, Untyped } from './routes.js'
import { accessToken } from './token.js'

export type * from './options.js'
export type * from './routes.js'

/**
 * Makes a client with its own settings, interceptors and rotation.
 *
 * `createClient<Routes>()` knows the routes that `filigree types` wrote; without `Routes` every path is allowed.
 */
export const createClient = <R extends object = Untyped>(
  settings: ClientOptions = {},
): Client<R> => {
  const hooks = {
    request: new Set<Interceptor<RequestConfig>>(),
    response: new Set<Interceptor<Answer>>(),
  }
  const memory = {}
  let turns = 0
  let lastTurn = 0
  // Null, unlike undefined, differs from every token that can be read.
  let ownToken: string | null = null

  const send = async (
    method: string,
    path: string,
    body: unknown,
    options: RequestOptions = {},
  ): Promise<unknown> => {
    // Values that could change while the request runs are read before the first await.
    const turn = ++turns
    const {
      auth,
      baseUrl = '',
      tokenKey = 'app_token',
      headers,
      storage,
      fetch: run = fetch,
    } = settings
    const request = [...hooks.request]
    const response = [...hooks.response]
    const vault = accessToken(memory, tokenKey, storage)
    let token = auth && vault()
    // Referenced after the awaits: Node collects a timeout signal that only AbortSignal.any holds, and then it never
    // fires.
    const signals = [
      options.signal,
      options.timeout && AbortSignal.timeout(options.timeout),
    ].filter((signal) => signal) as AbortSignal[]
    const defaults = mergeHeaders(headers, token && { Authorization: 'Bearer ' + token })
    let config: RequestConfig = {
      ...options,
      method,
      url: toAddress(baseUrl, path, options),
      headers: mergeHeaders(defaults, options.headers),
      body: isJson(body) ? plain(body) : body,
      signal: AbortSignal.any(signals),
    }
    for (const intercept of request) config = (await intercept(config)) ?? config

    config = { ...config, headers: mergeHeaders(config.headers) }
    let isOurs: unknown = config.headers.Authorization == defaults.Authorization
    if (originOf(config.url) != originOf(baseUrl)) {
      if (isOurs) delete config.headers.Authorization
      isOurs = token = ''
    }
    encodeBody(config, token)

    let answer: Answer
    try {
      const raw = await run(config.url, config as RequestInit)
      const fresh = raw.headers.get('FreshToken')
      if (
        fresh &&
        auth &&
        isOurs &&
        originOf(raw.url || config.url) == originOf(baseUrl) &&
        turn > lastTurn &&
        (vault() === token || vault() === ownToken)
      ) {
        lastTurn = turn
        vault((ownToken = fresh))
      }
      answer = await readAnswer(raw)
    } catch (error) {
      // Chromium throws an AbortError for a body that timed out.
      for (const signal of signals) signal.throwIfAborted()
      throw error
    }
    for (const intercept of response) answer = (await intercept(answer)) ?? answer
    if (answer.ok) return answer.data
    throw Object.assign(Error((answer.status as unknown as string) + ' ' + config.url), answer)
  }

  const bodyless = (method: string) => (path: string, options?: RequestOptions) =>
    send(method, path, options?.body, options)
  // Bound to nothing: it has no `this`, and a number is the shortest.
  const withBody = (method: string) => send.bind(0, method)

  return {
    configure: (given: ClientOptions) => (settings = { ...settings, ...given }),
    intercept: (kind: 'request', interceptor: Interceptor<RequestConfig>) => {
      // Wrapped, so that a function that is registered twice counts as two.
      const entry: typeof interceptor = (value) => interceptor(value)
      hooks[kind].add(entry)
      return () => hooks[kind].delete(entry)
    },
    get: bodyless('GET'),
    post: withBody('POST'),
    put: withBody('PUT'),
    patch: withBody('PATCH'),
    delete: bodyless('DELETE'),
  } as unknown as Client<R>
}

/** The client that all scripts of a page share. */
export const api: Client = /* @__PURE__ */ createClient()
