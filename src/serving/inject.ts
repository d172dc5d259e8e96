/** Serves requests without a port: `inject`, for tests. */

import { createIncoming } from '../http/in-memory/fake-request.js'
import { FakeResponse, type CollectedResponse } from '../http/in-memory/fake-response.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'
import type { Dispatcher } from './dispatcher.js'

const requestOptions = declareOptions({
  /** In upper or lower case. Default: `GET`, or `POST` with a body. */
  method: option.any<string>(),
  /** Path and query, e.g. `/items?limit=5`. */
  url: option
    .of<string>((value) => typeof value === 'string', "Write the path: '/items'.")
    .required(),
  headers: option.any<Readonly<Record<string, string>>>(),
  /** Sent as `Authorization: Bearer …`. */
  token: option.any<string>(),
  /** Sent as `application/json`. */
  json: option.any<unknown>(),
  /** Sent as `application/x-www-form-urlencoded`; a list repeats its key. */
  form: option.any<Readonly<Record<string, string | number | boolean | readonly string[]>>>(),
  /** Sent as `multipart/form-data`: a form, or its fields; bytes and blobs are sent as files. */
  multipart: option.any<FormData | Readonly<Record<string, string | Blob | Uint8Array>>>(),
  /** Sent as `text/plain`. */
  text: option.any<string>(),
  /** Sent unchanged, with the `content-type` of the headers. */
  body: option.any<string | Uint8Array>(),
})

/** A request. Set at most one of `json`, `form`, `multipart`, `text` and `body`. */
export interface InjectRequest extends OptionsOf<typeof requestOptions> {}

export interface InjectResponse {
  readonly status: number
  /** By lower-case name. Repeated values are joined with commas, those of `set-cookie` with line feeds. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as text. */
  readonly body: string
  /** The body as bytes. */
  readonly bytes: Buffer
  /** Parses the body. @throws {SyntaxError} if it is not JSON */
  json(): unknown
}

/** @returns the complete response; rejects if the connection was cut off */
export async function injectRequest(
  dispatcher: Pick<Dispatcher, 'serve'>,
  request: InjectRequest,
): Promise<InjectResponse> {
  requestOptions.check('inject', request)
  checkTimers()
  const content = await encodeBody(request)
  const headers = new Map<string, string>([['host', 'localhost']])
  if (content !== undefined) {
    if (content.type !== undefined) headers.set('content-type', content.type)
    headers.set('content-length', String(content.bytes.length))
  }
  if (request.token !== undefined) headers.set('authorization', `Bearer ${request.token}`)
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    headers.set(name.toLowerCase(), value)
  }
  const incoming = createIncoming({
    method: request.method?.toUpperCase() ?? (content === undefined ? 'GET' : 'POST'),
    url: request.url,
    headers,
    body: content?.bytes,
  })
  const outgoing = new FakeResponse()
  dispatcher.serve(incoming, outgoing)
  return toInjectResponse(await outgoing.collected())
}

/**
 * Fake timers of jest and vitest replace functions that no request can do without. The request would never end.
 *
 * @throws {Error} if `process.nextTick`, `setImmediate` or `queueMicrotask` is replaced
 */
export function checkTimers(): void {
  const names = [
    ...(isFake(Reflect.get(process, 'nextTick')) ? ['nextTick'] : []),
    ...(isFake(setImmediate) ? ['setImmediate'] : []),
    ...(isFake(queueMicrotask) ? ['queueMicrotask'] : []),
  ]
  if (names.length === 0) return
  throw new Error(
    `Fake timers replace ${names.join(', ')}, so applications would wait for ever. Use desk.clock of testApplication, or fake other timers only: doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'].`,
  )
}

/** Fake timers mark the functions that they replace. */
function isFake(timer: object): boolean {
  return Object.hasOwn(timer, 'clock')
}

interface EncodedBody {
  readonly bytes: Uint8Array
  readonly type: string | undefined
}

async function encodeBody(request: InjectRequest): Promise<EncodedBody | undefined> {
  if (request.json !== undefined) {
    return { bytes: Buffer.from(JSON.stringify(request.json)), type: 'application/json' }
  }
  if (request.text !== undefined) return { bytes: Buffer.from(request.text), type: 'text/plain' }
  if (request.body !== undefined) return { bytes: Buffer.from(request.body), type: undefined }
  const encoded = request.form === undefined ? toForm(request.multipart) : toPairs(request.form)
  if (encoded === undefined) return undefined
  const carrier = new Response(encoded)
  const type = carrier.headers.get('content-type') ?? undefined
  return { bytes: new Uint8Array(await carrier.arrayBuffer()), type }
}

function toPairs(form: NonNullable<InjectRequest['form']>): URLSearchParams {
  const pairs = new URLSearchParams()
  for (const [name, value] of Object.entries(form)) {
    for (const item of Array.isArray(value) ? value : [value]) pairs.append(name, String(item))
  }
  return pairs
}

function toForm(multipart: InjectRequest['multipart']): FormData | undefined {
  if (multipart === undefined || multipart instanceof FormData) return multipart
  const form = new FormData()
  for (const [name, value] of Object.entries(multipart)) {
    if (typeof value === 'string') form.append(name, value)
    else
      form.append(
        name,
        value instanceof Blob ? value : new Blob([new Uint8Array(value)]),
        fileName(value, name),
      )
  }
  return form
}

function fileName(value: Blob | Uint8Array, name: string): string {
  return value instanceof File ? value.name : name
}

function toInjectResponse({
  status,
  headers: list,
  body: content,
}: CollectedResponse): InjectResponse {
  const headers: Record<string, string> = {}
  for (const [givenName, value] of list) {
    const name = givenName.toLowerCase()
    const before = headers[name]
    const separator = name === 'set-cookie' ? '\n' : ', '
    headers[name] = before === undefined ? value : before + separator + value
  }
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const body = bytes.toString('utf8')
  return { status, headers, body, bytes, json: () => JSON.parse(body) as unknown }
}
