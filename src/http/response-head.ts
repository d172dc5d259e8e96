/** The head of a response, put together. Source: RFC 9110 §6.4.1 and §8.6. */
import type { Cors } from './cors.js'
import { addMissing, hasHeader } from './header-list.js'
import type { ServerRequest } from './server-request.js'

export interface Head {
  readonly status: number
  /** Headers of the reply itself, names and values in turn. */
  readonly own: readonly string[] | undefined
  readonly type: string | undefined
  /** Bytes; undefined where nobody knows before the end. */
  readonly length: number | undefined
}

/** On every answer: what it says it is, nobody guesses anew. Source: Fetch standard, §3.6. */
export const noSniff = Object.freeze(['X-Content-Type-Options', 'nosniff'] as const)

/**
 * @returns a fresh list, names and values in turn: the reply's own headers, type and length, CORS, and what was
 * collected on the request, of which the reply's own ones win
 */
export function toHead(cors: Cors, request: ServerRequest, parts: Head): string[] {
  const { status, own, type, length } = parts
  const head = own === undefined ? [] : [...own]
  if (!isBodyless(status)) {
    if (type !== undefined) head.push('Content-Type', type)
    if (length !== undefined) head.push('Content-Length', String(length))
  }
  if (own === undefined || !hasHeader(own, noSniff[0])) head.push(...noSniff)
  head.push(...cors.headersFor(request))
  if (request.responseHeaders !== undefined) addMissing(head, request.responseHeaders)
  return head
}

/** Statuses whose responses end with their head. */
export function isBodyless(status: number): boolean {
  return status === 204 || status === 304
}
