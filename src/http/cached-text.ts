import { entityTag, matchesEntityTag } from './entity-tags.js'
import { reply, type Reply } from './reply.js'
import type { ServerRequest } from './server-request.js'

/**
 * Serves a text that is created once, such as a part of a page: with its ETag, or as 304. Sends `Cache-Control:
 * no-cache` unless `.header` sets another rule.
 *
 * @param type the `Content-Type`
 * @param write called at the first request, and again only if it failed
 */
export function createCachedText(
  type: string,
  write: () => string | Promise<string>,
): (request: ServerRequest) => Reply | Promise<Reply> {
  let cached: { readonly text: string; readonly etag: string } | undefined
  const send = (request: ServerRequest, { text, etag }: NonNullable<typeof cached>): Reply => {
    const isCurrent = matchesEntityTag(request.incoming.headers['if-none-match'], etag)
    const answer = isCurrent ? reply(null, 304) : reply(text).type(type)
    return hardened(answer).header('ETag', etag)
  }
  const store = (text: string): NonNullable<typeof cached> => {
    cached = { text, etag: entityTag(text) }
    return cached
  }
  return (request) => {
    if (cached !== undefined) return send(request, cached)
    const written = write()
    if (typeof written === 'string') return send(request, store(written))
    return written.then((text) => send(request, store(text)))
  }
}

/** The headers that every part of a page has. */
export function hardened<Body>(answer: Reply<Body>): Reply<Body> {
  return answer.header('Cache-Control', 'no-cache').header('Referrer-Policy', 'no-referrer')
}
