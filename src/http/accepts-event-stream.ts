/** Whether a client asks for a stream of events rather than for one answer: `Accept: text/event-stream`. */
import type { HttpRequest } from './request.js'

const media = /(?:^|,)\s*text\/event-stream\s*(?:;([^,]*))?/i
const weightless = /;?\s*q=0(?:\.0*)?\s*$/i

/** True for GET alone, and where it is named: what takes anything takes JSON. */
export function acceptsEventStream({
  method,
  incoming,
}: Pick<HttpRequest, 'method' | 'incoming'>): boolean {
  const { accept } = incoming.headers
  if (accept === undefined || method !== 'GET') return false
  const found = media.exec(accept)
  return found !== null && !weightless.test(found[1] ?? '')
}
