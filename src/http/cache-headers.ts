/**
 * `Vary` and `Cache-Control` of responses that depend on their caller. They are not cacheable, unless the handler sets
 * another rule for private caches. Source: RFC 9111 §3 and §5.2.2; RFC 9110 §12.5.5 (`Vary`).
 */
import type { HeaderList } from './header-list.js'
import type { PendingResponse } from './pending-response.js'

/** Bits of `varyBits`: the request headers that the response depends on. */
export const onAuthorization = 1
export const onCookie = 2
/** The application reads the token itself, so that the response may depend on any header. */
export const onAnything = 4
/** The response is one of several representations: JSON or events, or an error as JSON or as a page. */
export const onAccept = 8

const allBits = onAuthorization | onCookie | onAnything | onAccept

/** The values of `Vary`, by their bits. */
const varyValues: readonly string[] = Array.from({ length: allBits + 1 }, (_, bits) => {
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

/** What these headers depend on. */
interface CachedRequest {
  readonly response: Pick<PendingResponse, 'varyBits'>
  readonly isPersonal: boolean
}

/** The fast path for headers without `Vary`, `Cache-Control`, cookies and tokens. */
export function addCacheHeaders(headers: HeaderList, request: CachedRequest): void {
  const { varyBits } = request.response
  if (varyBits === 0) return
  headers.add('Vary', varyValues[varyBits & allBits] ?? '')
  if (request.isPersonal) headers.add('Cache-Control', noStore)
}

/**
 * Adds to any headers what they lack of `Vary`. A response for one caller gets a `Cache-Control` that excludes shared
 * caches, in place of one that does not.
 *
 * @param varyBits the request headers that `Vary` must name
 */
export function mergeCacheHeaders(
  headers: HeaderList,
  request: CachedRequest,
  varyBits: number,
): void {
  if (varyBits !== 0) {
    const vary = headers.get('Vary')
    const missing = vary === undefined ? varyBits : varyBits & ~bitsOf(vary)
    if (missing !== 0) headers.add('Vary', varyValues[missing & allBits] ?? '')
  }
  if (!request.isPersonal && !headers.has('Set-Cookie') && !headers.has('FreshToken')) return
  const rule = headers.get('Cache-Control')
  if (rule === undefined) headers.add('Cache-Control', noStore)
  else if (!isPrivate(rule)) headers.replace('Cache-Control', noStore)
  headers.deleteMatching(cdnRule)
}

/** Whether a `Cache-Control` value excludes shared caches. */
function isPrivate(rule: string): boolean {
  const directives = rule.split(',').map((directive) => directive.trim().toLowerCase())
  const opens = directives.some((name) => name === 'public' || name.startsWith('s-maxage'))
  return directives.includes('private') && !opens
}

/** The last value of `Vary` and its bits. Most responses of an application have the same value. */
let [lastVary, lastBits] = ['', 0]

function bitsOf(vary: string): number {
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
