/** Checks the head of a request before any other step. Source: decisions, Requests; RFC 9112 §3.2. */

import { clip } from '../core/text.js'
import { HttpError } from '../errors/http-error.js'
import type { Incoming } from './node-messages.js'
import { maxHeaders } from './limits.js'

/**
 * @param maxUrl the maximum size of the request target in bytes. A longer one gets 414
 * @returns the error for an invalid head, otherwise `undefined`
 */
export function headError(incoming: Incoming, maxUrl: number): HttpError | undefined {
  const url = incoming.url ?? ''
  if (url.length > maxUrl) {
    return new HttpError(414, `The URL is longer than ${maxUrl} bytes.`)
  }
  if (incoming.joinedHeader !== undefined) return joinedError(incoming)
  const coding = incoming.headers['transfer-encoding']
  return listError(incoming) ?? hostError(incoming) ?? codingError(coding)
}

/** The server of such a request has read its framing. */
function joinedError(incoming: Incoming): HttpError | undefined {
  const hostProblem = checkHost(incoming.joinedHeader?.('host') ?? undefined)
  if (hostProblem !== undefined || incoming.method === 'GET') return hostProblem
  // Two values of the other headers that may occur only once are not valid when they are joined.
  const length = incoming.joinedHeader?.('content-length') ?? undefined
  if (length === undefined) return codingError(incoming.joinedHeader?.('transfer-encoding'))
  return length.includes(',') ? duplicateHeader('content-length') : undefined
}

function listError({ rawHeaders }: Incoming): HttpError | undefined {
  // Node drops further headers (see `createNodeServer`), and a dropped one could be important.
  if (rawHeaders.length >= 2 * maxHeaders) {
    return new HttpError(431, `There are ${maxHeaders} headers or more.`)
  }
  return repeatedHeader(rawHeaders)
}

/** If one of these headers occurs twice, a proxy and this server could read two different requests. */
function repeatedHeader(headers: readonly string[]): HttpError | undefined {
  let seenBits = 0
  for (let index = 0; index < headers.length; index += 2) {
    const bit = singleHeaderBit(headers[index] ?? '')
    if ((seenBits & bit) !== 0) {
      return duplicateHeader(headers[index] ?? '')
    }
    seenBits |= bit
  }
  return undefined
}

function duplicateHeader(name: string): HttpError {
  return new HttpError(400, `The header ${clip(name)} is there twice.`, {
    code: 'DUPLICATE_HEADER',
  })
}

/** A bit for each header that may occur only once, 0 for other headers. The length of most names is decisive. */
function singleHeaderBit(name: string): number {
  switch (name.length) {
    case 4:
      return name.toLowerCase() === 'host' ? 1 : 0
    case 12:
      return name.toLowerCase() === 'content-type' ? 2 : 0
    case 13:
      return name.toLowerCase() === 'authorization' ? 4 : 0
    case 14:
      return name.toLowerCase() === 'content-length' ? 8 : 0
    default:
      return 0
  }
}

/** The last valid host, because nearly all requests of a process have the same. */
let knownHost = ''
/** A name or an address, and a port. Source: RFC 3986 §3.2.2; RFC 9112 §3.2. */
const hostForm = /^(?:\[[\w:.%]+\]|[\w\-.~%!$&'()*+,;=]*)(?::\d*)?$/i

/** An invalid host could act as markup, or name another server, in a link that the program builds from it. */
function hostError({ headers, httpVersion }: Incoming): HttpError | undefined {
  const isNeeded = headers.host !== undefined || httpVersion === '1.1'
  return isNeeded ? checkHost(headers.host) : undefined
}

function checkHost(host: string | undefined): HttpError | undefined {
  if (host === knownHost) return undefined
  if (host === undefined) {
    return new HttpError(400, 'The header Host is missing.', { code: 'MISSING_HOST' })
  }
  if (hostForm.test(host)) {
    knownHost = host
    return undefined
  }
  return new HttpError(400, 'The header Host is not the name of a server.', {
    code: 'INVALID_HOST',
  })
}

/** Only `chunked` is decoded. A body in another coding would be read undecoded. Source: RFC 9112 §6.1. */
function codingError(coding: string | null | undefined): HttpError | undefined {
  if (coding === undefined || coding === null || coding.toLowerCase() === 'chunked')
    return undefined
  return new HttpError(501, 'Transfer-Encoding may be chunked, and nothing else.', {
    code: 'UNKNOWN_TRANSFER_CODING',
  })
}
