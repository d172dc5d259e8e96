/** ETags, the conditions that name them, and texts that are sent with one. Source: RFC 9110 §8.8.3 and §13.1.2. */

import crypto from 'node:crypto'
import { reply, type Reply } from './reply.js'
import type { ServerRequest } from './server-request.js'

/** A strong ETag: equal only for equal bytes. */
export function entityTag(content: string | Uint8Array): string {
  return `"${digest(content).slice(0, 27)}"`
}

/** Uses the one-shot function of the runtime if available, which takes a third of the time. */
const digest: (content: string | Uint8Array) => string =
  typeof crypto.hash === 'function'
    ? (content) => crypto.hash('sha256', content, 'base64url')
    : (content) => crypto.createHash('sha256').update(content).digest('base64url')

const list = /^[\t ]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(?:,[\t ]*(?:,[\t ]*)*|$))+$/

/**
 * Whether the client already has this version, by the weak comparison.
 *
 * @param condition `If-None-Match`; a malformed one is ignored
 * @param tag weak or strong
 */
export function matchesEntityTag(condition: string | undefined, tag: string): boolean {
  if (condition === undefined) return false
  if (condition.trim() === '*') return true
  if (condition.length > 8192 || !list.test(condition)) return false
  const name = tag.replace(/^W\//, '')
  const named: readonly string[] = condition.match(/"[^"]*"/g) ?? []
  return named.includes(name)
}

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
