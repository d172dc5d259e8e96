/**
 * The head of a response. Headers are one flat list, names and values in turn, which `writeHead` handles fastest. This
 * file checks headers, edits such lists, and completes them: type, length, CORS, cookies and cache rules. Source: RFC
 * 9110 §6.4.1 and §8.6.
 */
import type { AnswerParts } from './route-response.js'
import type { Cors } from './cors.js'
import { addMissing, findValue, hasHeader } from './header-list.js'
import { setPrivacy } from './cache-privacy.js'
import type { ServerRequest } from './server-request.js'
import { toTokenCookie } from './token-cookie.js'

export interface Head {
  readonly status: number
  /** Headers of the reply itself, names and values in turn. */
  readonly own: readonly string[] | undefined
  readonly type: string | undefined
  /** Bytes; undefined if unknown before the end. */
  readonly length: number | undefined
}

/** Sent with every response, so that browsers do not guess its type. Source: Fetch standard, §3.6. */
export const noSniff = Object.freeze(['X-Content-Type-Options', 'nosniff'] as const)

/**
 * @returns a new list of names and values in turn: the headers of the reply, type and length, CORS, and headers
 * collected on the request, which the reply's headers override
 */
export function toHead(cors: Cors, request: ServerRequest, parts: Head): string[] {
  const { status, own, type, length } = parts
  const head = own === undefined ? [] : [...own]
  if (!isBodyless(status)) {
    if (type !== undefined) head.push('Content-Type', type)
    if (length !== undefined) head.push('Content-Length', String(length))
  }
  if (own === undefined || !hasHeader(own, noSniff[0])) head.push(...noSniff)
  head.push(...cors.headersFor(request))
  addTokenCookie(head, request)
  if (request.responseHeaders !== undefined) addMissing(head, request.responseHeaders)
  cors.expose(head)
  prefixLocation(head, request.basePath)
  setPrivacy(head, request)
  return head
}

/** As `toHead`, without length and CORS, for responses that interceptors may change. */
export function toOwnHead(request: ServerRequest, { status, own, type }: Head): string[] {
  const head = own === undefined ? [] : [...own]
  if (type !== undefined && !isBodyless(status)) head.push('Content-Type', type)
  if (!hasHeader(head, noSniff[0])) head.push(...noSniff)
  addTokenCookie(head, request)
  if (request.responseHeaders !== undefined) addMissing(head, request.responseHeaders)
  prefixLocation(head, request.basePath)
  setPrivacy(head, request)
  return head
}

/** Completes the head of a response that interceptors have seen: length, CORS, and headers collected since. */
export function toAnswerHead(
  cors: Cors,
  request: ServerRequest,
  { status, list, collected }: AnswerParts,
  length: number | undefined,
): string[] {
  const head = [...list]
  if (length !== undefined && !isBodyless(status)) head.push('Content-Length', String(length))
  head.push(...cors.headersFor(request))
  const { responseHeaders } = request
  if (responseHeaders !== undefined) {
    // A cached response of another request has no headers of this one.
    const collectedBefore = collected.from === responseHeaders ? collected.count : 0
    addMissing(head, responseHeaders.slice(collectedBefore))
  }
  cors.expose(head)
  prefixLocation(head, request.basePath)
  setPrivacy(head, request)
  return head
}

/** Adds the application's prefix to a `Location` that begins with one slash, unless it is there already. */
export function prefixLocation(head: string[], basePath: string): void {
  if (basePath === '') return
  for (let index = 0; index + 1 < head.length; index += 2) {
    const address = head[index + 1] ?? ''
    if (!/^location$/i.test(head[index] ?? '') || !/^\/(?![/\\])/.test(address)) continue
    const hasPrefix =
      address.startsWith(basePath) && /^(?:[/?#]|$)/.test(address.slice(basePath.length))
    if (!hasPrefix) head[index + 1] = basePath + address
  }
}

/** Adds the fresh token of a reply to the cookie, if the application uses cookies. */
function addTokenCookie(head: string[], request: ServerRequest): void {
  if (!request.setsTokenCookie) return
  const token = findValue(head, 'FreshToken')
  if (token !== undefined) head.push('Set-Cookie', toTokenCookie(request, token))
}

/** Statuses whose responses end with their head. */
export function isBodyless(status: number): boolean {
  return status === 204 || status === 304
}
