import type { ServerRequest } from './server-request.js'

// Responses for one caller are not cacheable, unless the handler sets another rule for private caches. Source: RFC 9111
// §3 and §5.2.2; RFC 9110 §12.5.5 (`Vary`).

/** Bits of `ServerRequest.dependsOn`: the request headers that the response depends on. */
export const onAuthorization = 1
export const onCookie = 2
/** The application reads the token itself, so that the response may depend on any header. */
export const onAnything = 4

const named = ['', 'Authorization', 'Cookie', 'Authorization, Cookie'] as const
const varied = [...named, '*', '*', '*', '*'] as const
const noStore = 'private, no-store'
/**
 * Headers that shared caches use instead of `Cache-Control`. Source: RFC 9213; Edge Architecture, `Surrogate-Control`.
 */
const cdnRule = /^(?:(?:[a-z]+-)?cdn-cache-control|surrogate-control)$/i

/** The fast path for a response without cache headers and cookies. */
export function pushPrivacy(head: string[], request: ServerRequest): void {
  if (request.dependsOn === 0) return
  head.push('Vary', varied[request.dependsOn & 7] ?? '')
  if (isForOne(request)) head.push('Cache-Control', noStore)
}

/** The lengths of the names that `setPrivacy` searches. Most headers have another length. */
const lengths = ['vary', 'set-cookie', 'cache-control'].map((name) => name.length)

/** Adds `Vary`, and `Cache-Control` if the response is for one caller, to a complete head. */
export function setPrivacy(head: string[], request: ServerRequest): void {
  let personal = isForOne(request)
  let rule = -1
  let missing = request.dependsOn
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
        if (missing !== 0) missing &= ~namedIn(head[index + 1] ?? '')
    }
  }
  if (missing !== 0) head.push('Vary', varied[missing & 7] ?? '')
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

function isForOne(request: ServerRequest): boolean {
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

function namedIn(vary: string): number {
  if (vary !== lastVary) [lastVary, lastBits] = [vary, readVary(vary)]
  return lastBits
}

function readVary(vary: string): number {
  const names = vary.split(',').map((name) => name.trim().toLowerCase())
  if (names.includes('*')) return onAuthorization | onCookie | onAnything
  const authorization = names.includes('authorization') ? onAuthorization : 0
  return authorization | (names.includes('cookie') ? onCookie : 0)
}
