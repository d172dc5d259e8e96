/**
 * The path of a request as its router reads it, in one form: two requests have the same path exactly where the router
 * sees the same segments. Source: decisions, Routing; RFC 3986 §3.3 and §6.2.2.
 */
import { pathError } from '../routing/route-table.js'

/** A sign that a segment has to escape (RFC 3986, `pchar`), or an escape. */
const escaped = /[^\w\-.~!$&'()*+,;=:@/]/

/**
 * `/%70rivate/` → `/private`, `/caf%c3%a9` → `/caf%C3%A9`, `/a%2fb` → `/a%2Fb`. Dot segments and empty ones stay, since
 * the router takes them as they are.
 *
 * @param sent without the query
 * @param pattern of the route that was found: what its `<rest:path>` takes has slashes for `%2F`, as the parameter has
 * @returns `sent` where it is malformed, which is answered 400
 */
export function readPath(sent: string, pattern: string | undefined): string {
  const path = withoutLastSlash(sent)
  if (!escaped.test(path)) return path
  if (!path.startsWith('/') || /\p{Surrogate}/u.test(path) || pathError(path) !== undefined)
    return path
  const rest = pattern?.endsWith(':path>') === true ? pattern.split('/').length - 1 : Infinity
  return path
    .split('/')
    .map((part, index) => (index < rest ? writeSegment(decode(part)) : writeRest(decode(part))))
    .join('/')
}

/** The router does not count one slash at the end. */
function withoutLastSlash(path: string): string {
  const counts = path.length < 2 || !path.endsWith('/') || path.endsWith('//')
  return counts ? path : path.slice(0, -1)
}

function decode(part: string): string {
  return part.includes('%') ? decodeURIComponent(part) : part
}

function writeRest(text: string): string {
  return text.split('/').map(writeSegment).join('/')
}

function writeSegment(text: string): string {
  return encodeURIComponent(text).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
}
