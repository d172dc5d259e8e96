/** Reads the path of a request: from its target, and normalized as the router matches it. */
import { pathError } from '../routing/route-table.js'

/** Removes scheme and authority from a target in absolute form (`http://host/path`, RFC 9112 §3.2.2). */
export function toOriginForm(target: string): string {
  if (target.startsWith('/')) return target
  const match = /^https?:\/\/[^/?#]*(.*)$/i.exec(target)
  const rest = match?.[1]
  if (rest === undefined) return target
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** A character that a segment has to escape (RFC 3986, `pchar`), or an escape. */
const escaped = /[^\w\-.~!$&'()*+,;=:@/]/

/**
 * Normalizes a path, so that two requests have the same path if and only if the router sees the same segments:
 * `/%70rivate/` → `/private`, `/caf%c3%a9` → `/caf%C3%A9`, `/a%2fb` → `/a%2Fb`. Dot segments and empty segments stay,
 * because the router uses them unchanged. Source: decisions, Routing; RFC 3986 §3.3 and §6.2.2.
 *
 * @param sent without the query
 * @param pattern the matched route's. In the part that its `<rest:path>` takes, `%2F` becomes a slash. In a segment that
 *   `<id:key>` takes, `%2C` stays
 * @returns `sent` if it is malformed, which gets 400
 */
export function readPath(sent: string, pattern: string | undefined): string {
  const path = withoutLastSlash(sent)
  if (!escaped.test(path)) return path
  if (!path.startsWith('/') || /\p{Surrogate}/u.test(path) || pathError(path) !== undefined)
    return path
  const rest = pattern?.endsWith(':path>') === true ? pattern.split('/').length - 1 : Infinity
  const hasKey = pattern?.includes(':key>') === true
  const patternParts = hasKey ? pattern.split('/') : []
  return path
    .split('/')
    .map((part, index) => {
      if (index >= rest) return writeRest(decode(part))
      const isKey = hasKey && patternParts[index]?.endsWith(':key>') === true
      return isKey ? writeKey(part) : writeSegment(decode(part))
    })
    .join('/')
}

/** The router ignores one slash at the end. */
function withoutLastSlash(path: string): string {
  const isIgnored = path.length >= 2 && path.endsWith('/') && !path.endsWith('//')
  return isIgnored ? path.slice(0, -1) : path
}

function decode(part: string): string {
  return part.includes('%') ? decodeURIComponent(part) : part
}

function writeRest(text: string): string {
  return text.split('/').map(writeSegment).join('/')
}

function writeKey(part: string): string {
  return part
    .split(',')
    .map((one) => writeSegment(decode(one)).replaceAll(',', '%2C'))
    .join(',')
}

function writeSegment(text: string): string {
  return encodeURIComponent(text).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
}
