/** Asks the server, by the client of the package. */
import { createClient } from '../index.js'
import type { Answer, Params } from '../options.js'

/** Where the page is: `/admin`, with what stands before it. */
export const base = document.body.dataset.path ?? '/admin'

export interface AskOptions {
  readonly params?: Params
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** A 401 is the answer, and no reason to ask who is there. */
  readonly open?: boolean
}

export interface Said<T> {
  readonly data: T
  readonly headers: Headers
}

/** Whether the token is one that scripts keep; else the browser sends it as a cookie. */
let isByToken = false

/** Of a token that the page keeps. */
export const byToken = (): boolean => isByToken

/** @param token kept from now on; false: the cookie alone is sent */
export function goByToken(token: boolean | string): void {
  isByToken = token !== false
  try {
    if (typeof token === 'string') localStorage.setItem('app_token', token)
  } catch {
    isByToken = false
  }
}

export function keptToken(): boolean {
  try {
    return localStorage.getItem('app_token') !== null
  } catch {
    return false
  }
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

let signInAgain: () => Promise<void> = () => Promise.reject(new Error('Not signed in.'))

/** @param given shows the sign-in over what is being done, and returns once somebody has signed in */
export const onSessionEnd = (given: typeof signInAgain): void => {
  signInAgain = given
}

/** @throws an ApiError for what is no success */
export async function ask<T>(
  method: Method,
  path: string,
  options: AskOptions = {},
): Promise<Said<T>> {
  try {
    return await askOnce(method, path, options)
  } catch (error) {
    if (statusOf(error) !== 401 || options.open === true) throw error
    await signInAgain()
    return askOnce(method, path, options)
  }
}

async function askOnce<T>(method: Method, path: string, given: AskOptions): Promise<Said<T>> {
  const { body, params, headers, signal } = given
  const client = createClient({ auth: isByToken })
  let answer: Answer | undefined
  client.intercept('response', (said) => {
    answer = said
  })
  const options = { params, headers, signal, cache: 'no-store' as const }
  const data: unknown = await (method === 'GET'
    ? client.get(path, options)
    : method === 'DELETE'
      ? client.delete(path, options)
      : client[method === 'POST' ? 'post' : 'patch'](path, body, options))
  return { data: data as T, headers: answer?.headers ?? new Headers() }
}

/** Below the page's own address: `api('rows/tickets')`. */
export const api = (path: string): string => `${base}/api/${path}`

export const rowsOf = (record: { path: string }, key?: string): string =>
  api(`rows/${record.path}${key === undefined ? '' : `/${encodeURIComponent(key)}`}`)

export interface Fault {
  readonly path: string
  readonly message: string
}

interface Failure {
  readonly status?: number
  readonly name?: string
  readonly data?: {
    readonly error?: unknown
    readonly errors?: unknown
    readonly code?: unknown
  } | null
}

/** Somebody closed the sign-in: there is nothing to say. */
export class Abandoned extends Error {}

export const statusOf = (error: unknown): number => (error as Failure | null)?.status ?? 0

/** The faults of fields. */
export function faultsOf(error: unknown): Fault[] {
  const list = (error as Failure | null)?.data?.errors
  return Array.isArray(list) ? (list as Fault[]) : []
}

const words: Readonly<Record<number, string>> = {
  401: 'You are not signed in.',
  403: 'You may not do that.',
  404: 'This is not there, or not for you.',
  413: 'This is too large.',
  429: 'This was asked too often. Wait a moment and try again.',
  503: 'The server is busy. Try again in a moment.',
}

/** The server's words where it has some. */
export function faultText(error: unknown): string {
  if (error instanceof Abandoned) return ''
  const { status = 0, data, name } = (error ?? {}) as Failure
  if (name === 'AbortError') return ''
  const said = data?.error
  if (typeof said === 'string' && said !== '' && status !== 404) return said
  if (status > 0) return words[status] ?? `The server answered with ${status}. Nothing was changed.`
  if (error instanceof TypeError && /fetch|network/i.test(error.message))
    return 'The server cannot be reached. Nothing is lost: try again.'
  return error instanceof Error ? error.message : String(error)
}
