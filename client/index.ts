/**
 * The browser client. Source: specification, "Browser fetch client" and Authentication 6 to 8; decisions, Browser client.
 *
 * It must fit into 1,536 bytes, gzip -9, which a test checks. Hence arrow functions, `==` and short error messages.
 */
import { encodeBody, isJsonBody, mergeHeaders, originOf, toAddress, toJsonCopy } from './request.js'
import { readResponse } from './response.js'
import type {
  ApiResponse,
  ClientOptions,
  ClientSettings,
  Interceptor,
  RequestConfig,
  RequestOptions,
  StoredTokens,
} from './options.js'
import type { Client, Untyped } from './routes.js'
import { tokenAccessor } from './token.js'

export type * from './options.js'
export type * from './routes.js'

/**
 * Makes a client with its own settings, interceptors and rotation.
 *
 * `createClient<Routes>()` knows the routes that `filigree types` wrote; without `Routes` every path is allowed.
 *
 * @param tokens the tokens by their keys, where the store is missing, blocked or full. Default: none yet. To share those of
 * another client, pass its `configure({}).tokens`
 */
export const createClient = <R extends object = Untyped>(
  settings: ClientOptions = {},
  tokens: StoredTokens = {},
): Client<R> => {
  const interceptors = {
    request: new Set<Interceptor<RequestConfig>>(),
    response: new Set<Interceptor<ApiResponse>>(),
  }
  let requestCount = 0
  /** The number of the request whose response has brought the last fresh token. */
  let lastRotation = 0
  /** The last fresh token. Null, unlike undefined, differs from every token that can be read. */
  let lastFreshToken: string | null = null

  const send = async (
    method: string,
    path: string,
    body: unknown,
    options: RequestOptions = {},
  ): Promise<unknown> => {
    // Values that could change while the request runs are read before the first await.
    const requestNumber = ++requestCount
    const {
      auth,
      baseUrl = '',
      tokenKey = 'app_token',
      headers,
      storage,
      fetch: runFetch = fetch,
    } = settings
    const requestInterceptors = [...interceptors.request]
    const responseInterceptors = [...interceptors.response]
    const storedToken = tokenAccessor(tokens, tokenKey, storage)
    let token = auth && storedToken()
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
      body: isJsonBody(body) ? toJsonCopy(body) : body,
      signal: AbortSignal.any(signals),
    }
    for (const intercept of requestInterceptors) config = (await intercept(config)) ?? config

    config = { ...config, headers: mergeHeaders(config.headers) }
    // The caller or an interceptor may have set another token. Other origins never get the stored one.
    let sendsStoredToken = config.headers.Authorization == defaults.Authorization
    if (originOf(config.url) != originOf(baseUrl)) {
      if (sendsStoredToken) delete config.headers.Authorization
      sendsStoredToken = token = false
    }
    encodeBody(config, token)

    let response: ApiResponse
    try {
      const raw = await runFetch(config.url, config as RequestInit)
      const fresh = raw.headers.get('FreshToken')
      if (
        fresh &&
        auth &&
        sendsStoredToken &&
        // Responses of earlier requests may come later, with an older token.
        requestNumber > lastRotation &&
        originOf(raw.url || config.url) == originOf(baseUrl) &&
        // Not after the user has signed in or out meanwhile.
        (storedToken() === token || storedToken() === lastFreshToken)
      ) {
        lastRotation = requestNumber
        storedToken((lastFreshToken = fresh))
      }
      response = await readResponse(raw)
    } catch (error) {
      // Chromium throws an AbortError for a body that timed out.
      for (const signal of signals) signal.throwIfAborted()
      throw error
    }
    for (const intercept of responseInterceptors) response = (await intercept(response)) ?? response
    if (response.ok) return response.data
    // Template literals take more bytes.
    // eslint-disable-next-line @typescript-eslint/restrict-plus-operands
    throw Object.assign(Error(response.status + ' ' + config.url), response)
  }

  // `send` has no `this`, and a number is the shortest argument.
  const withBody = (method: string) => send.bind(0, method)

  return {
    configure: (options: ClientOptions) =>
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-assertion -- without it, `tokens` is no known property
      (settings = { ...settings, ...options, tokens } as ClientSettings),
    intercept: (kind: 'request', interceptor: Interceptor<RequestConfig>) => {
      // Wrapped, so that a function that is registered twice counts as two.
      const entry: typeof interceptor = (value) => interceptor(value)
      interceptors[kind].add(entry)
      return () => interceptors[kind].delete(entry)
    },
    get: (path: string, options?: RequestOptions) => send('GET', path, options?.body, options),
    post: withBody('POST'),
    put: withBody('PUT'),
    patch: withBody('PATCH'),
    delete: (path: string, options?: RequestOptions) =>
      send('DELETE', path, options?.body, options),
    // The routes exist in types only.
  } as unknown as Client<R>
}

/** The client that all scripts of a page share. */
export const api: Client = /* @__PURE__ */ createClient()
