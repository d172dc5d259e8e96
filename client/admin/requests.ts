/** Sends requests to the server, with the client of the package, and reads error responses. */
import { createClient } from '../index.js'
import type { ApiResponse, Params } from '../options.js'
import { texts } from './language.js'
import { keyPath, type RecordInfo } from './schema.js'
import { translate } from './translate.js'

/** The page's path, including the application's prefix: `/admin`. */
export const base = document.body.dataset.path ?? '/admin'

export interface SendOptions {
  readonly params?: Params
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Whether a 401 is returned to the caller instead of opening the sign-in. */
  readonly open?: boolean
}

export interface ServerResponse<T> {
  readonly data: T
  readonly headers: Headers
}

/** Whether requests send a token from the local storage. Otherwise the browser sends a cookie. */
let isByToken = false

/** Of a token that the page keeps. */
export const usesStoredToken = (): boolean => isByToken

/** @param token the token to store, true to use the stored one, or false to use the cookie only */
export function useStoredToken(token: boolean | string): void {
  isByToken = token !== false
  try {
    if (typeof token === 'string') localStorage.setItem('app_token', token)
  } catch {
    isByToken = false
  }
}

export function hasStoredToken(): boolean {
  try {
    return localStorage.getItem('app_token') !== null
  } catch {
    return false
  }
}

type SendMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE'

let restoreSession: () => Promise<void> = () => Promise.reject(new Error(translate('notSignedIn')))

/** @param handler shows the sign-in over what is being done, and returns once somebody has signed in */
export const onSessionEnd = (handler: typeof restoreSession): void => {
  restoreSession = handler
}

/** @throws an ApiError unless the response is a success */
export async function request<T>(
  method: SendMethod,
  path: string,
  options: SendOptions = {},
): Promise<ServerResponse<T>> {
  try {
    return await whenFree(() => requestOnce(method, path, options), options.signal)
  } catch (error) {
    if (statusOf(error) !== 401 || options.open === true) throw error
    await restoreSession()
    return requestOnce(method, path, options)
  }
}

/** Attempts while the server has too much to do, one second apart. */
const maxAttempts = 10

/** Sends a request again if the server had too much to do. It refuses such a request before any work. */
async function whenFree<T>(send: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      const isBusy = (error as ServerError | null)?.data?.code === 'TOO_BUSY'
      if (!isBusy || attempt === maxAttempts) throw error
      await new Promise((resolve) => setTimeout(resolve, 1000))
      signal?.throwIfAborted()
    }
  }
}

async function requestOnce<T>(
  method: SendMethod,
  path: string,
  options: SendOptions,
): Promise<ServerResponse<T>> {
  const { body, params, headers, signal } = options
  const client = createClient({ auth: isByToken })
  let response: ApiResponse | undefined
  client.intercept('response', (received) => {
    response = received
  })
  const clientOptions = { params, headers, signal, cache: 'no-store' as const }
  const data: unknown = await (method === 'GET'
    ? client.get(path, clientOptions)
    : method === 'DELETE'
      ? client.delete(path, clientOptions)
      : client[method === 'POST' ? 'post' : 'patch'](path, body, clientOptions))
  return { data: data as T, headers: response?.headers ?? new Headers() }
}

/**
 * Posts a body and reads the response line by line, each a JSON object. The last one is the result.
 *
 * @param onLine called for every line except the last
 * @throws an error like `request`, also if the last line is `{ status, error }`
 */
export async function postForLines<Result>(
  path: string,
  body: Blob,
  { onLine, signal }: { onLine: (line: unknown) => void; signal: AbortSignal },
): Promise<Result> {
  const send = (): Promise<Response> => {
    const token = isByToken ? localStorage.getItem('app_token') : null
    const headers = {
      'Content-Type': body.type,
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
    }
    return fetch(path, { method: 'POST', body, headers, signal, cache: 'no-store' })
  }
  let response = await send()
  if (response.status === 401) {
    await restoreSession()
    response = await send()
  }
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let last: unknown
  for (;;) {
    const { done = true, value = '' } = (await reader?.read()) ?? {}
    text += value
    const lines = text.split('\n')
    text = done ? '' : (lines.pop() ?? '')
    for (const line of lines.filter((one) => one !== '')) {
      if (last !== undefined) onLine(last)
      last = JSON.parse(line)
    }
    if (done) break
  }
  const { status = response.status } = (last ?? {}) as { status?: number }
  if (status >= 400) throw Object.assign(new Error(`${status} ${path}`), { status, data: last })
  return last as Result
}

/** A path of the admin API: `api('rows/tickets')`. */
export const api = (path: string): string => `${base}/api/${path}`

export const rowsOf = (record: RecordInfo, key?: string): string =>
  api(`rows/${record.path}${key === undefined ? '' : `/${keyPath(record, key)}`}`)

export interface ServerFieldError {
  readonly path: string
  readonly message: string
  /** The rule that the value breaks. */
  readonly code?: string
}

interface ServerError {
  readonly status?: number
  readonly name?: string
  readonly data?: {
    readonly error?: unknown
    readonly errors?: unknown
    readonly code?: unknown
  } | null
}

/** The user closed the sign-in. No message is shown. */
export class SignInCancelled extends Error {}

export const statusOf = (error: unknown): number => (error as ServerError | null)?.status ?? 0

/** Replaces the words of the framework by those of the page's language. They begin with the path of the field. */
function translateError(error: ServerFieldError): ServerFieldError {
  const { path, message, code = '' } = error
  const words = message.startsWith(`${path} `) ? texts.codes?.[code] : undefined
  return words === undefined ? error : { path, message: `${path} ${words}` }
}

/** The field errors of a response. */
export function fieldErrorsOf(error: unknown): ServerFieldError[] {
  const list = (error as ServerError | null)?.data?.errors
  return Array.isArray(list) ? (list as ServerFieldError[]).map(translateError) : []
}

const messagesByStatus: Readonly<Record<number, string>> = {
  401: translate('notSignedIn'),
  403: translate('forbidden'),
  404: translate('missing'),
  413: translate('tooLarge'),
  429: translate('tooMany'),
  503: translate('busy'),
}

/** The message of an error: the server's text, or a text for the status. */
export function errorText(error: unknown): string {
  if (error instanceof SignInCancelled) return ''
  const { status = 0, data, name } = (error ?? {}) as ServerError
  if (name === 'AbortError') return ''
  const serverMessage = data?.error
  if (typeof serverMessage === 'string' && serverMessage !== '' && status !== 404)
    return serverMessage
  if (status > 0) return messagesByStatus[status] ?? translate('status', { status: String(status) })
  if (error instanceof TypeError && /fetch|network/i.test(error.message))
    return translate('unreachable')
  return error instanceof Error ? error.message : String(error)
}
