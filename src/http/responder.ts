/**
 * Answers: takes what a handler returned or threw and writes it. Plain data, which nearly every answer is, goes the
 * shortest way: one prepared list of headers, one `writeHead`, one write. Source: decisions, Responses.
 */
import { HttpError } from '../errors/http-error.js'
import { toBytes, toChunkSource, type ChunkSource } from './chunk-source.js'
import type { Cors } from './cors.js'
import { endWith } from './end-with.js'
import { eventHeartbeat, EventStream } from './events.js'
import { FailureWriter } from './failure-writer.js'
import { FileBody, openFile } from './file-reply.js'
import { addMissing } from './header-list.js'
import type { Log } from '../core/log.js'
import { Reply } from './reply.js'
import type { ServerRequest } from './server-request.js'
import { isBodyless, noSniff, toHead, type Head } from './response-head.js'
import { streamBody, type Heartbeat } from './stream-body.js'

export interface ResponderOptions {
  readonly cors: Cors
  readonly log: Log
}

/** What the route says about its answers. */
export interface ResultRule {
  /** For what is returned without a status of its own. 200, where the route says nothing else. */
  readonly status: number
  /** The route declares what it returns: undefined or null is then 404 `{ error }` instead of 204. */
  readonly notFoundWhenEmpty: boolean
}

export interface Responder {
  /** Sends what a handler returned. Synchronous for values. Never throws. */
  send(request: ServerRequest, result: unknown, rule: ResultRule): void
  /** Sends what was thrown. Never throws. */
  fail(request: ServerRequest, error: unknown): void
  /** Lets go of what comes when there is nobody to send it to. Never throws. */
  discard(result: unknown): void
}

export function createResponder(options: ResponderOptions): Responder {
  return new NodeResponder(options)
}

const jsonType = 'application/json; charset=utf-8'
const textType = 'text/plain; charset=utf-8'
const binaryType = 'application/octet-stream'

/** Where the value of `Content-Length` stands in the prepared head. */
const lengthIndex = 3

class NodeResponder implements Responder {
  readonly #cors: Cors
  readonly #failures: FailureWriter
  /** The head of a JSON answer, but for its length; undefined where CORS depends on the request. */
  readonly #jsonHead: string[] | undefined

  constructor({ cors, log }: ResponderOptions) {
    this.#cors = cors
    this.#failures = new FailureWriter(cors, log)
    if (cors.fixed !== undefined) {
      this.#jsonHead = ['Content-Type', jsonType, 'Content-Length', '0', ...noSniff, ...cors.fixed]
    }
  }

  send(request: ServerRequest, result: unknown, rule: ResultRule): void {
    try {
      if (request.outgoing.headersSent || request.outgoing.destroyed) this.discard(result)
      else if (isPlainData(result) && !isBodyless(rule.status)) {
        this.#sendJson(request, result, rule.status)
      } else if (result instanceof Reply) this.#sendReply(request, result, rule)
      else if (result === undefined || result === null) this.#sendEmpty(request, undefined, rule)
      else if (result instanceof Error) this.fail(request, result)
      else this.#sendBody(request, result, undefined, rule.status)
    } catch (error) {
      this.fail(request, error)
    }
  }

  fail(request: ServerRequest, error: unknown): void {
    this.#failures.answer(request, error)
  }

  discard(result: unknown): void {
    const body = result instanceof Reply ? (result as Reply).body : result
    if (typeof body !== 'object' || body === null) return
    try {
      const source = body instanceof EventStream ? body.source : toChunkSource(body)
      source?.cancel()
    } catch {
      // A locked web stream: whoever reads it lets it go.
    }
  }

  /** The shortest way out. */
  #sendJson(request: ServerRequest, data: unknown, status: number): void {
    const body = toJson(data)
    const length = Buffer.byteLength(body)
    let head: string[]
    if (this.#jsonHead === undefined) {
      head = toHead(this.#cors, request, { status, own: undefined, type: jsonType, length })
    } else {
      head = this.#jsonHead.slice()
      head[lengthIndex] = String(length)
      if (request.responseHeaders !== undefined) addMissing(head, request.responseHeaders)
    }
    request.outgoing.writeHead(status, head)
    if (request.method === 'HEAD') request.outgoing.end()
    else endWith(request.outgoing, body, length)
  }

  #sendReply(request: ServerRequest, reply: Reply, rule: ResultRule): void {
    if (reply.body === undefined || reply.body === null) this.#sendEmpty(request, reply, rule)
    else this.#sendBody(request, reply.body, reply, reply.status ?? rule.status)
  }

  #sendEmpty(request: ServerRequest, reply: Reply | undefined, rule: ResultRule): void {
    if (reply?.status === undefined && rule.notFoundWhenEmpty) {
      this.fail(request, new HttpError(404))
      return
    }
    const status = reply?.status ?? (rule.status === 200 ? 204 : rule.status)
    const head = { status, own: reply?.headers, type: reply?.mediaType, length: 0 }
    this.#write(request, head, '')
  }

  #sendBody(request: ServerRequest, body: unknown, reply: Reply | undefined, status: number): void {
    const own = reply?.headers
    const type = reply?.mediaType
    if (typeof body === 'string') {
      const length = Buffer.byteLength(body)
      this.#write(request, { status, own, type: type ?? textType, length }, body)
      return
    }
    const bytes = toBytes(body)
    if (bytes !== undefined) {
      this.#write(request, { status, own, type: type ?? binaryType, length: bytes.length }, bytes)
    } else if (body instanceof FileBody) this.#sendFile(request, body, reply, status)
    else if (!this.#sendStream(request, body, reply, status)) {
      rememberData(body)
      const content = toJson(body)
      const length = Buffer.byteLength(content)
      this.#write(request, { status, own, type: type ?? jsonType, length }, content)
    }
  }

  /** @returns false when the body is no stream */
  #sendStream(
    request: ServerRequest,
    body: unknown,
    reply: Reply | undefined,
    status: number,
  ): boolean {
    if (typeof body !== 'object' || body === null) return false
    const own = reply?.headers
    const type = reply?.mediaType
    const length = reply?.length
    if (body instanceof EventStream) {
      this.#stream(request, body.source, { status, own, type, length }, eventHeartbeat)
      return true
    }
    if (body instanceof Blob) {
      const blobType = body.type === '' ? binaryType : body.type
      const head = { status, own, type: type ?? blobType, length: body.size }
      this.#stream(request, toChunkSource(body.stream()), head)
      return true
    }
    const source = toChunkSource(body)
    if (source === undefined) return false
    this.#stream(request, source, { status, own, type: type ?? binaryType, length })
    return true
  }

  #sendFile(request: ServerRequest, body: FileBody, reply: Reply | undefined, ruled: number): void {
    openFile(request, body)
      .then((opened) => {
        const own = [...(reply?.headers ?? [])]
        addMissing(own, opened.headers)
        const status = opened.status === 200 ? ruled : opened.status
        const { length } = opened
        const head = { status, own, type: reply?.mediaType ?? opened.type, length }
        this.#stream(request, toChunkSource(opened.stream), head)
      })
      .catch((error: unknown) => {
        this.fail(request, error)
      })
  }

  #write(request: ServerRequest, head: Head, content: string | Uint8Array): void {
    const { outgoing, method } = request
    outgoing.writeHead(head.status, toHead(this.#cors, request, head))
    if (method === 'HEAD' || content.length === 0 || isBodyless(head.status)) outgoing.end()
    else endWith(outgoing, content, head.length ?? Buffer.byteLength(content))
  }

  #stream(request: ServerRequest, source: ChunkSource, head: Head, heartbeat?: Heartbeat): void {
    const { outgoing, method } = request
    if (outgoing.destroyed) {
      source.cancel()
    } else if (method === 'HEAD' || head.length === 0 || isBodyless(head.status)) {
      source.cancel()
      this.#write(request, head, '')
    } else {
      const writeHead = () => {
        outgoing.writeHead(head.status, toHead(this.#cors, request, head))
      }
      streamBody(outgoing, source, { writeHead, length: head.length, heartbeat }).catch(
        (error: unknown) => {
          this.fail(request, error)
        },
      )
    }
  }
}

/** Prototypes of instances that turned out to be data: nothing but JSON. Checked inputs are such, classes of records too. */
const dataPrototypes = new WeakSet<object>()

function rememberData(body: unknown): void {
  if (typeof body !== 'object' || body === null) return
  const prototype = Object.getPrototypeOf(body) as object | null
  if (prototype !== null) dataPrototypes.add(prototype)
}

/** Lists, plain objects and instances known to be data: nearly every answer. One of them may still be an iterable. */
function isPlainData(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype = Object.getPrototypeOf(value) as object | null
  if (prototype !== Object.prototype && (prototype === null || !dataPrototypes.has(prototype))) {
    return false
  }
  return !(Symbol.asyncIterator in value) && !(Symbol.iterator in value)
}

function toJson(data: unknown): string {
  // The types promise text; functions and symbols give none.
  const content = JSON.stringify(data) as string | undefined
  if (content === undefined) {
    throw new TypeError(
      `A handler returned a ${typeof data}, which has no JSON. Return plain data.`,
    )
  }
  // Known by its tag: to name the class would load the platform's whole fetch, a tenth of a small program's start.
  if (content === '{}' && Object.prototype.toString.call(data) === '[object Response]') {
    throw new TypeError(
      'A handler returned a web Response. Return its body, or reply(body, status).',
    )
  }
  return content
}
