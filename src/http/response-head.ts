/**
 * The head of a response. Headers are one flat list, names and values in turn, which `writeHead` handles fastest. This
 * file checks headers, edits such lists, and completes them: type, length, CORS, cookies, cache rules and ETags. Source:
 * RFC 9110 §6.4.1 and §8.6.
 */

import crypto from 'node:crypto'
import type { ResponseParts } from './route-response.js'
import type { Cors } from './cors.js'
import type { ServerRequest } from './server-request.js'
import { toTokenCookie } from './cookies.js'

export interface ResponseHead {
  readonly status: number
  /** Headers of the reply itself, names and values in turn. */
  readonly replyHeaders: readonly string[] | undefined
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
export function toHead(cors: Cors, request: ServerRequest, parts: ResponseHead): string[] {
  const { status, replyHeaders, type, length } = parts
  const head = replyHeaders === undefined ? [] : [...replyHeaders]
  if (!isBodyless(status)) {
    if (type !== undefined) head.push('Content-Type', type)
    if (length !== undefined) head.push('Content-Length', String(length))
  }
  if (replyHeaders === undefined || !hasHeader(replyHeaders, noSniff[0])) head.push(...noSniff)
  head.push(...cors.headersFor(request))
  addTokenCookie(head, request)
  if (request.responseHeaders !== undefined) addMissing(head, request.responseHeaders)
  cors.expose(head)
  prefixLocation(head, request.basePath)
  setPrivacy(head, request)
  return head
}

/** As `toHead`, without length and CORS, for responses that interceptors may change. */
export function toInterceptedHead(
  request: ServerRequest,
  { status, replyHeaders, type }: ResponseHead,
): string[] {
  const head = replyHeaders === undefined ? [] : [...replyHeaders]
  if (type !== undefined && !isBodyless(status)) head.push('Content-Type', type)
  if (!hasHeader(head, noSniff[0])) head.push(...noSniff)
  addTokenCookie(head, request)
  if (request.responseHeaders !== undefined) addMissing(head, request.responseHeaders)
  prefixLocation(head, request.basePath)
  // A cache before the handler stores one representation. `Accept` is named when the response is sent.
  setPrivacy(head, request, request.dependsOn & ~onAccept)
  return head
}

/** Completes the head of a response that interceptors have seen: length, CORS, and headers collected since. */
export function toPreparedHead(
  cors: Cors,
  request: ServerRequest,
  { status, list, collected }: ResponseParts,
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

const nonTokenCharacter = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/
// A value may contain the control character Tab. Node cannot write characters above U+00FF.
const unsendable = /[\0-\x08\n-\x1f\x7f]|[^\0-\xff]/
const framing = /^(?:transfer-encoding|trailer|content-length)$/i

/** Headers that may occur in a response more than once. */
const repeatable = /^(?:set-cookie|vary|link|www-authenticate)$/i

/**
 * Checks that a header can be sent. Source: RFC 9110 §5.1 (names) and §5.5 (values).
 *
 * @throws {TypeError} for a name that is not a token, a value with CR, LF, NUL, another control character or a character
 * above U+00FF, and a header that Filigree writes itself
 */
export function assertHeader(name: string, value: string): void {
  if (!checkedNames.has(name)) assertName(name)
  assertValue(name, value)
}

/**
 * As `assertHeader`, for headers that an interceptor sets on a response. `Access-Control-Expose-Headers` is allowed,
 * because it can only add to the configured headers.
 */
export function assertInterceptedHeader(name: string, value: string): void {
  if (/^access-control-expose-headers$/i.test(name)) assertValue(name, value)
  else assertHeader(name, value)
}

/** Names that were checked already, because a program sends the same few names with every response. */
const checkedNames = new Set<string>()
const maxCheckedNames = 200

function assertName(name: string): void {
  if (name === '' || nonTokenCharacter.test(name)) {
    throw new TypeError(
      `Header ${JSON.stringify(name)}: this is not a header name. Use letters, digits and "-".`,
    )
  }
  if (framing.test(name)) {
    throw new TypeError(`Header "${name}": it is made from the body. Leave it out.`)
  }
  if (/^access-control-/i.test(name)) {
    throw new TypeError(
      `Header "${name}": CORS headers are on every response. Set them in bootstrap's \`cors\`.`,
    )
  }
  if (checkedNames.size < maxCheckedNames) checkedNames.add(name)
}

function assertValue(name: string, value: string): void {
  if (unsendable.test(value)) throw new TypeError(`Header "${name}": ${describeInvalid(value)}`)
}

function describeInvalid(value: string): string {
  if (/[\r\n]/.test(value)) return 'the value contains CR or LF. Take the line breaks out.'
  if (value.includes('\0')) return 'the value contains NUL. Take it out.'
  return 'the value contains a character that no header can carry. Percent-encode it.'
}

/** Sets a header: replaces the one with the same name, or adds it at the end if it is new or repeatable. */
export function setHeader(list: string[], name: string, value: string): void {
  const index = repeatable.test(name) ? -1 : findHeader(list, name)
  if (index === -1) list.push(name, value)
  else list.splice(index, 2, name, value)
}

/** Adds headers that the list does not have yet, and repeatable ones. */
export function addMissing(list: string[], more: readonly string[]): void {
  for (let index = 0; index + 1 < more.length; index += 2) {
    const name = more[index] ?? ''
    if (findHeader(list, name) === -1 || repeatable.test(name))
      list.push(name, more[index + 1] ?? '')
  }
}

/** @param list names and values in turn, names in any case */
export function hasHeader(list: readonly string[], name: string): boolean {
  return findHeader(list, name) !== -1
}

/** All values of a header. */
export function valuesOf(list: readonly string[], name: string): string[] {
  const lowerName = name.toLowerCase()
  const values: string[] = []
  for (let index = 0; index + 1 < list.length; index += 2) {
    if (list[index]?.toLowerCase() === lowerName) values.push(list[index + 1] ?? '')
  }
  return values
}

/** Removes all occurrences of a header. */
export function removeHeader(list: string[], name: string): void {
  for (let at = findHeader(list, name); at !== -1; at = findHeader(list, name)) list.splice(at, 2)
}

/** @param list names and values in turn, names in any case */
export function findValue(list: readonly string[], name: string): string | undefined {
  const index = findHeader(list, name)
  return index === -1 ? undefined : list[index + 1]
}

/** The index of a header's name, whatever its case, or -1. */
function findHeader(list: readonly string[], name: string): number {
  const lowerName = name.toLowerCase()
  for (let index = 0; index < list.length; index += 2) {
    const present = list[index] ?? ''
    if (present.length === name.length && present.toLowerCase() === lowerName) return index
  }
  return -1
}

// Responses for one caller are not cacheable, unless the handler sets another rule for private caches. Source: RFC 9111
// §3 and §5.2.2; RFC 9110 §12.5.5 (`Vary`).

/** Bits of `ServerRequest.dependsOn`: the request headers that the response depends on. */
export const onAuthorization = 1
export const onCookie = 2
/** The application reads the token itself, so that the response may depend on any header. */
export const onAnything = 4
/** The response is one of several representations: JSON or events, or an error as JSON or as a page. */
export const onAccept = 8

const allBits = onAuthorization | onCookie | onAnything | onAccept

/** The value of `Vary`, by bits. */
const varied: readonly string[] = Array.from({ length: allBits + 1 }, (_, bits) => {
  if ((bits & onAnything) !== 0) return '*'
  const names: [bit: number, name: string][] = [
    [onAuthorization, 'Authorization'],
    [onCookie, 'Cookie'],
    [onAccept, 'Accept'],
  ]
  return names.flatMap(([bit, name]) => ((bits & bit) === 0 ? [] : [name])).join(', ')
})
const noStore = 'private, no-store'
/**
 * Headers that shared caches use instead of `Cache-Control`. Source: RFC 9213; Edge Architecture, `Surrogate-Control`.
 */
const cdnRule = /^(?:(?:[a-z]+-)?cdn-cache-control|surrogate-control)$/i

/** The fast path for a response without cache headers and cookies. */
export function pushPrivacy(head: string[], request: ServerRequest): void {
  if (request.dependsOn === 0) return
  head.push('Vary', varied[request.dependsOn & allBits] ?? '')
  if (isPersonal(request)) head.push('Cache-Control', noStore)
}

/** The lengths of the names that `setPrivacy` searches. Most headers have another length. */
const lengths = ['vary', 'set-cookie', 'cache-control'].map((name) => name.length)

/**
 * Adds `Vary`, and `Cache-Control` if the response is for one caller, to a complete head.
 *
 * @param dependsOn the bits that `Vary` names
 */
export function setPrivacy(
  head: string[],
  request: ServerRequest,
  dependsOn = request.dependsOn,
): void {
  let personal = isPersonal(request)
  let rule = -1
  let missing = dependsOn
  for (let index = 0; index + 1 < head.length; index += 2) {
    const name = head[index] ?? ''
    if (!lengths.includes(name.length)) continue
    switch (name.toLowerCase()) {
      case 'set-cookie':
      case 'freshtoken':
        personal = true
        break
      case 'cache-control':
        rule = index
        break
      case 'vary':
        if (missing !== 0) missing &= ~varyBits(head[index + 1] ?? '')
    }
  }
  if (missing !== 0) head.push('Vary', varied[missing & allBits] ?? '')
  if (!personal) return
  if (rule === -1) head.push('Cache-Control', noStore)
  else if (!isPrivate(head[rule + 1] ?? '')) head[rule + 1] = noStore
  removeCdnRules(head)
}

function removeCdnRules(head: string[]): void {
  for (let index = head.length - 2; index >= 0; index -= 2) {
    if (cdnRule.test(head[index] ?? '')) head.splice(index, 2)
  }
}

function isPersonal(request: ServerRequest): boolean {
  return request.admitted !== undefined || request.hasVisitor
}

/** Whether a `Cache-Control` value excludes shared caches. */
function isPrivate(rule: string): boolean {
  const directives = rule.split(',').map((directive) => directive.trim().toLowerCase())
  const opens = directives.some((name) => name === 'public' || name.startsWith('s-maxage'))
  return directives.includes('private') && !opens
}

/** The last value of `Vary` and its bits, because most responses of an application have the same value. */
let [lastVary, lastBits] = ['', 0]

function varyBits(vary: string): number {
  if (vary !== lastVary) [lastVary, lastBits] = [vary, readVary(vary)]
  return lastBits
}

function readVary(vary: string): number {
  const names = vary.split(',').map((name) => name.trim().toLowerCase())
  if (names.includes('*')) return allBits
  const authorization = names.includes('authorization') ? onAuthorization : 0
  const accept = names.includes('accept') ? onAccept : 0
  return authorization | accept | (names.includes('cookie') ? onCookie : 0)
}

/** ETags, and the conditions that name them. Source: RFC 9110 §8.8.3 and §13.1.2. */

/** A strong ETag: equal only for equal bytes. */
export function entityTag(content: string | Uint8Array): string {
  return `"${digest(content).slice(0, 27)}"`
}

/** Uses the one-shot function of the runtime if available, which takes a third of the time. */
const digest: (content: string | Uint8Array) => string =
  typeof crypto.hash === 'function'
    ? (content) => crypto.hash('sha256', content, 'base64url')
    : (content) => crypto.createHash('sha256').update(content).digest('base64url')

const tagList = /^[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(?:,[\t ]*(?:,[\t ]*)*|$))+$/

/**
 * Whether the client already has this version, by the weak comparison.
 *
 * @param condition `If-None-Match`; a malformed one is ignored
 * @param tag weak or strong
 */
export function matchesEntityTag(condition: string | undefined, tag: string): boolean {
  if (condition === undefined) return false
  if (condition.trim() === '*') return true
  if (condition.length > 8192 || !tagList.test(condition)) return false
  const name = tag.replace(/^W\//, '')
  const named: readonly string[] = condition.match(/"[^"]*"/g) ?? []
  return named.includes(name)
}
