/** A handler's result makes the same response on a socket, a `FakeResponse` and any stream with `writeHead`. */
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { HttpError, events, file, html, redirect, reply } from '../../src/index.js'
import { createCors } from '../../src/http/cors.js'
import { createIncoming } from '../../src/http/in-memory/fake-request.js'
import { FakeResponse } from '../../src/http/in-memory/fake-response.js'
import type { Outgoing } from '../../src/http/node-messages.js'
import { ServerRequest } from '../../src/http/server-request.js'
import { Responder } from '../../src/http/responder.js'
import {
  respondOnce,
  createMemoryLog,
  plainRule,
  type SentRequest,
} from '../http/responder-server.js'

interface Received {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: string
}

type Implementation = (handler: () => unknown, message: SentRequest) => Promise<Received>

/** Has only what the interface requires: no `setHeader`, no `statusCode`, no socket. */
class PlainOutgoing extends Writable implements Outgoing {
  headersSent = false
  status = 0
  headers: string[] = []
  readonly chunks: Buffer[] = []

  writeHead(status: number, headers: string[]): this {
    this.headersSent = true
    this.status = status
    this.headers = headers
    return this
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.chunks.push(chunk)
    setImmediate(callback)
  }
}

function answerInto(outgoing: Outgoing, handler: () => unknown, message: SentRequest): void {
  const responder = new Responder({ cors: createCors(), log: createMemoryLog() })
  const { method = 'GET', path = '/', headers = {} } = message
  const incoming = createIncoming({
    method,
    url: path,
    headers: Object.entries(headers),
    body: undefined,
  })
  const request = new ServerRequest(incoming, outgoing, { trustProxy: false })
  respond(request, responder, handler)
}

function respond(request: ServerRequest, responder: Responder, handler: () => unknown): void {
  try {
    responder.send(request, handler(), plainRule)
  } catch (error) {
    responder.fail(request, error)
  }
}

const implementations: [string, Implementation][] = [
  [
    'a socket',
    async (handler, message) => {
      const answer = await respondOnce(
        {
          handle: (request, responder) => {
            respond(request, responder, handler)
          },
        },
        message,
      )
      return { status: answer.status, headers: answer.pairs.flat(), body: answer.text }
    },
  ],
  [
    'a FakeResponse',
    async (handler, message) => {
      const outgoing = new FakeResponse()
      answerInto(outgoing, handler, message)
      const { status, headers } = await outgoing.head
      const chunks = (await outgoing.body.toArray()) as Buffer[]
      return { status, headers: headers.flat, body: Buffer.concat(chunks).toString() }
    },
  ],
  [
    'a plain stream',
    async (handler, message) => {
      const outgoing = new PlainOutgoing()
      answerInto(outgoing, handler, message)
      await new Promise((resolve) => outgoing.once('close', resolve))
      const { status, headers, chunks } = outgoing
      return { status, headers, body: Buffer.concat(chunks).toString() }
    },
  ],
]

const root = fileURLToPath(new URL('.', import.meta.url))
const thisFile = 'response-targets.test.ts'

function* letters(): Generator<string> {
  yield 'a'
  yield 'b'
}

function throwing(error: unknown): () => never {
  return () => {
    throw error
  }
}

const cases: [string, () => unknown, SentRequest][] = [
  ['data', () => ({ id: 7, name: 'ü' }), {}],
  ['data for HEAD', () => ({ id: 7 }), { method: 'HEAD' }],
  ['text', () => 'hello', {}],
  ['empty text', () => '', {}],
  ['bytes', () => Buffer.from('abc'), {}],
  ['nothing', () => null, {}],
  ['a reply', () => reply([1], 201).header('X-A', '1').cookie('a', '1').cookie('b', '2'), {}],
  ['a page', () => html('<p>'), {}],
  ['a redirect', () => redirect('/next', 307), {}],
  ['a stream', () => Readable.from(['a', 'b']), {}],
  ['a stream for HEAD', () => Readable.from(['a', 'b']), { method: 'HEAD' }],
  ['a web stream', () => new Response('ab').body, {}],
  ['a blob', () => new Blob(['ab']), {}],
  ['an iterator', () => letters(), {}],
  ['events', () => events(['a']), {}],
  ['a file', () => file(thisFile, { root }), {}],
  ['a part of a file', () => file(thisFile, { root }), { headers: { range: 'bytes=0-9' } }],
  ['a file for HEAD', () => file(thisFile, { root }), { method: 'HEAD' }],
  ['a known file', () => file(thisFile, { root }), { headers: { 'if-none-match': '*' } }],
  ['no file', () => file('../x', { root }), {}],
  ['an HttpError', throwing(new HttpError(405, 'No', { headers: { allow: 'GET' } })), {}],
  ['a problem', throwing(new HttpError(404)), { headers: { accept: 'application/problem+json' } }],
  ['a failure', throwing(new Error('secret')), { headers: { 'x-request-id': 'r-1' } }],
  ['a failing stream', () => throwingStream(), { headers: { 'x-request-id': 'r-1' } }],
]

async function* throwingStream(): AsyncGenerator<string> {
  throw new Error('secret')
}

/** Headers that only a socket has. */
const ofConnection = ['date', 'connection', 'keep-alive', 'transfer-encoding']

function comparable({ status, headers, body }: Received): object {
  const pairs: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!.toLowerCase()
    if (ofConnection.includes(name)) continue
    // Every request has its own id.
    const value = name === 'x-request-id' ? '' : headers[index + 1]
    pairs.push(`${name}: ${value}`)
  }
  return { status, pairs: pairs.sort(), body }
}

const [, reference] = implementations[0]!

describe.each(implementations.slice(1))('over %s', (_name, implementation) => {
  it.each(cases)('sends %s as a socket does', async (_what, handler, message) => {
    const response = comparable(await implementation(handler, message))
    expect(response).toEqual(comparable(await reference(handler, message)))
  })
})
