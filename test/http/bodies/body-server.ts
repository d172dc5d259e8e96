/** A server that reads bodies and reports the results, for the tests of this folder. */
import { readdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate as eventLoopTick } from 'node:timers/promises'
import { HttpError } from '../../../src/index.js'
import type { BodyPlan } from '../../../src/http/bodies/body-types.js'
import { readBody } from '../../../src/http/bodies/read-body.js'
import { defaultLimits, type Limits } from '../../../src/http/limits.js'
import { ServerRequest } from '../../../src/http/server-request.js'

export interface Outcome {
  readonly request: ServerRequest
  /** What `readBody` rejected with. */
  readonly failure: unknown
  /** Temporary folders at the end of the reading. */
  readonly folders: string[]
}

export interface BodyServerOptions {
  readonly limits?: Partial<Limits>
  readonly isRequired?: boolean
  readonly beforeFirstFile?: BodyPlan['beforeFirstFile']
  /** Runs between reading the body and the response. */
  readonly handle?: (request: ServerRequest) => unknown
}

export class BodyServer implements AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly #server: Server
  readonly #outcomes: Outcome[] = []
  #waiting: ((outcome: Outcome) => void) | undefined

  private constructor(server: Server, options: BodyServerOptions) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.url = `http://127.0.0.1:${this.port}/`
    server.on('request', (req, res) => {
      void this.#answer(new ServerRequest(req, res, { trustProxy: false }), options)
    })
    // `readBody` must send 100 Continue, not Node.
    server.on('checkContinue', (req, res) => server.emit('request', req, res))
  }

  static async start(options: BodyServerOptions = {}): Promise<BodyServer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new BodyServer(server, options)
  }

  /** The result of the next request in order. */
  next(): Promise<Outcome> {
    const outcome = this.#outcomes.shift()
    if (outcome !== undefined) return Promise.resolve(outcome)
    return new Promise((resolve) => (this.#waiting = resolve))
  }

  /** Node's side of the next request, as soon as its head has arrived. */
  arrival(): Promise<IncomingMessage> {
    return new Promise((resolve) => this.#server.once('request', resolve))
  }

  async post(body: BodyInit | Uint8Array, type?: string, headers: Record<string, string> = {}) {
    const response = await fetch(this.url, {
      method: 'POST',
      body: typeof body === 'string' ? new TextEncoder().encode(body) : (body as BodyInit),
      headers: type === undefined ? headers : { 'content-type': type, ...headers },
    })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }

  connect(): Socket {
    return connect(this.port, '127.0.0.1')
  }

  /** Sends the bytes on a separate connection. @returns the response text once the server has closed it */
  raw(...parts: (string | Uint8Array)[]): Promise<string> {
    const socket = this.connect()
    for (const part of parts) socket.write(part)
    return textOf(socket)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    // The next test counts its own folders.
    await untilNoFolders()
  }

  async #answer(request: ServerRequest, options: BodyServerOptions): Promise<void> {
    const { isRequired = false, beforeFirstFile, handle } = options
    const limits = { ...defaultLimits, ...options.limits }
    try {
      await readBody(request, { limits, isRequired, beforeFirstFile })
      this.#report(request, undefined)
      const result = await handle?.(request)
      this.#send(request, 200, result ?? toResponse(request))
    } catch (failure) {
      this.#report(request, failure)
      const isExpected = failure instanceof HttpError
      const { status, code, message } = isExpected ? failure : unexpected(failure)
      this.#send(request, status, { error: message, code })
    }
  }

  #report(request: ServerRequest, failure: unknown): void {
    const outcome = { request, failure, folders: uploadFolders() }
    if (this.#waiting === undefined) this.#outcomes.push(outcome)
    else this.#waiting(outcome)
    this.#waiting = undefined
  }

  #send({ incoming, outgoing }: ServerRequest, status: number, body: unknown): void {
    const text = JSON.stringify(body)
    const headers = ['Content-Length', String(Buffer.byteLength(text))]
    outgoing.writeHead(status, status === 200 ? headers : [...headers, 'Connection', 'close'])
    outgoing.end(text)
    incoming.resume()
  }
}

function unexpected(failure: unknown) {
  return { status: 500, code: 'UNEXPECTED', message: String(failure) }
}

function toResponse({ body, files, formToken }: ServerRequest) {
  if (Buffer.isBuffer(body)) return { bytes: body.toString('hex'), formToken }
  return { kind: body === undefined ? 'undefined' : typeof body, body, files, formToken }
}

/** All bytes that the other side sends until the connection ends, also by a reset. */
export function textOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      resolve(Buffer.concat(chunks).toString())
    })
  })
}

/** The temporary folders of this process that exist now. */
export function uploadFolders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`filigree-upload-${process.pid}-`))
}

/** Waits for the cleanup after a closed response. */
export async function untilNoFolders(): Promise<string[]> {
  while (uploadFolders().length > 0) await eventLoopTick()
  return uploadFolders()
}

/** A multipart body of text parts with their heads. */
export function multipartOf(boundary: string, ...parts: { head: string; body: string }[]): string {
  const texts = parts.map(({ head, body }) => `--${boundary}\r\n${head}\r\n\r\n${body}\r\n`)
  return `${texts.join('')}--${boundary}--\r\n`
}

/** The head of a field, or of a file when `fileName` is set. */
export function headOf(name: string, fileName?: string): string {
  const disposition = `Content-Disposition: form-data; name="${name}"`
  return fileName === undefined ? disposition : `${disposition}; filename="${fileName}"`
}

/** A request without a socket, whose bytes the test pushes. */
export function fakeRequest(type: string): ServerRequest & { readonly incoming: Readable } {
  const incoming = Object.assign(new Readable({ read: () => undefined }), {
    headers: { 'content-type': type, 'transfer-encoding': 'chunked' },
    rawHeaders: [],
    httpVersion: '1.1',
    socket: {},
  })
  const outgoing = Object.assign(new PassThrough(), { headersSent: false, writeHead: () => 0 })
  const request = new ServerRequest(incoming, outgoing, { trustProxy: false })
  return request as typeof request & { readonly incoming: Readable }
}

/** Reads its body with a limit of 10 bytes. */
export async function read(request: ServerRequest): Promise<void> {
  const limits = { ...defaultLimits, body: 10, multipart: 10 }
  await readBody(request, { limits, isRequired: false })
}
