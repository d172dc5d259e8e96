/**
 * What caches may keep of an answer that was made for one caller: nothing, unless the handler says another rule that
 * binds it to that caller. Source: RFC 9111 §3 and §5.2.2; RFC 9110 §12.5.5 (`Vary`).
 */
import type { ServerRequest } from './server-request.js'

/** Bits of `ServerRequest.dependsOn`: the headers of the request that the answer depends on. */
export const onAuthorization = 1
export const onCookie = 2
/** The application reads the token itself: no list of headers is certain. */
export const onAnything = 4

const named = ['', 'Authorization', 'Cookie', 'Authorization, Cookie'] as const
const varied = [...named, '*', '*', '*', '*'] as const
const noStore = 'private, no-store'
/** What shared caches heed in the place of `Cache-Control`. Source: RFC 9213; Edge Architecture, `Surrogate-Control`. */
const cdnRule = /^(?:(?:[a-z]+-)?cdn-cache-control|surrogate-control)$/i

/** The fast path, for an answer without cache headers and cookies. */
export function pushPrivacy(head: string[], request: ServerRequest): void {
  if (request.dependsOn === 0) return
  head.push('Vary', varied[request.dependsOn & 7] ?? '')
  if (isForOne(request)) head.push('Cache-Control', noStore)
}

/** Lengths of the names that it looks for: most headers have another one. */
const lengths = ['vary', 'set-cookie', 'cache-control'].map((name) => name.length)

/** Completes a whole head, in place: `Vary`, and `Cache-Control` where the answer is for one caller alone. */
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

/** The whole answer is for this caller, and nothing in the rule says otherwise. */
function isPrivate(rule: string): boolean {
  const directives = rule.split(',').map((directive) => directive.trim().toLowerCase())
  const opens = directives.some((name) => name === 'public' || name.startsWith('s-maxage'))
  return directives.includes('private') && !opens
}

/** The last value and its bits: an application has few, and mostly the same. */
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
