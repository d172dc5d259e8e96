/** Reads `Accept` headers. Source: RFC 9110 §12.5.1. */
import type { HttpRequest } from './request.js'

/** A part of an `Accept` header in lower case, such as `text/html;q=0.5`. */
export interface MediaRange {
  readonly type: string
  readonly parameters: readonly string[]
}

/**
 * Reads an `Accept` header (RFC 9110 §12.5.1). It is split, because a regular expression for all of it takes quadratic
 * time.
 */
export function readMediaRanges(accept: string): MediaRange[] {
  return accept
    .toLowerCase()
    .split(',')
    .map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
      return { type, parameters }
    })
}

/**
 * True if an `Accept` header names one of these media types, with a weight above 0. Ranges such as `*\/*` do not count.
 *
 * @param types in lower case
 */
export function namesMedia(accept: string, types: readonly string[]): boolean {
  return readMediaRanges(accept).some(
    ({ type, parameters }) =>
      types.includes(type) && !parameters.some((parameter) => zeroWeight.test(parameter)),
  )
}

const zeroWeight = /^q=0(?:\.0*)?$/
const eventStream: readonly string[] = ['text/event-stream']
const eventStreamText = /text\/event-stream/i

/**
 * Whether a client requests a stream of events (`Accept: text/event-stream`) instead of one response. True only for GET
 * requests that list the type, because clients that accept any type get JSON.
 */
export function acceptsEventStream({
  method,
  incoming,
}: Pick<HttpRequest, 'method' | 'incoming'>): boolean {
  const { accept } = incoming.headers
  if (accept === undefined || method !== 'GET') return false
  // Almost no request names the type: those are not parsed.
  return eventStreamText.test(accept) && namesMedia(accept, eventStream)
}
