/**
 * Converts responses of routes into results of tools, resources and prompts. Text of rows is data: it is sent as structured content and, for
 * clients without structure, as a text that is marked as data.
 */
import { type InternalResponse, reply, type Reply } from '../../index.js'
import {
  isJsonObject,
  ProtocolError,
  codes,
  type JsonObject,
  metaNames,
  type ServerInfo,
} from './protocol.js'

/** Resources may change at any time, and may depend on the caller. */
const notCached = { ttlMs: 0, cacheScope: 'private' }

export function resourceResult(
  response: InternalResponse,
  uri: string,
  mime: string | undefined,
): JsonObject {
  const { body } = response
  const media = (response.header('content-type') ?? 'text/plain').replace(/;.*$/, '').trim()
  const mimeType = mime ?? media
  const content = isText(media)
    ? { uri, mimeType, text: body.toString() }
    : { uri, mimeType, blob: Buffer.from(body as Buffer).toString('base64') }
  return { contents: [content], ...notCached }
}

function isText(media: string): boolean {
  return /^text\/|[/+](?:json|xml)$|^application\/(?:javascript|yaml|graphql)$/.test(media)
}

/** A string becomes a message of the user; an object has the messages. */
export function promptResult(response: InternalResponse): JsonObject {
  const media = response.header('content-type') ?? ''
  const text = response.body.toString()
  if (!/[/+]json\b/.test(media))
    return { messages: [{ role: 'user', content: { type: 'text', text } }] }
  const value: unknown = JSON.parse(text)
  const messages = Array.isArray(value) ? value : isJsonObject(value) ? value.messages : undefined
  if (!Array.isArray(messages))
    throw new ProtocolError(codes.internal, 'The prompt returned neither a string nor messages')
  const description =
    isJsonObject(value) && typeof value.description === 'string'
      ? { description: value.description }
      : {}
  return { ...description, messages: messages.map(toMessage) }
}

function toMessage(message: unknown): JsonObject {
  if (!isJsonObject(message))
    return { role: 'user', content: { type: 'text', text: String(message) } }
  const { role = 'user', content } = message
  return { role, content: typeof content === 'string' ? { type: 'text', text: content } : content }
}

/** A block of a tool's result, in the form of the protocol. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource'; readonly resource: Readonly<Record<string, unknown>> }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string }

/**
 * Returns several blocks, such as text and an image: `content([{ type: 'text', text: 'A chart' }, { type: 'image', data, mimeType: 'image/png' }])`.
 */
export function content(blocks: readonly ContentBlock[]): Reply<readonly ContentBlock[]> {
  return reply(blocks).type(blocksMedia)
}

/** Marks a block as data of the application, as opposed to instructions of the server. */
export const dataMark = {
  annotations: { audience: ['assistant'] },
  _meta: { 'filigree/content': 'data' },
}
const dataMarkText = JSON.stringify(dataMark).slice(1)

/** The media type of blocks that a handler returns: `content([...])`. */
export const blocksMedia = 'application/vnd.filigree.mcp-content+json'

/** Writes the JSON text of tool results. Responses of routes are JSON text already. */
export class ToolResults {
  /** The last members of every result. */
  readonly #resultEnd: string

  constructor(info: ServerInfo) {
    this.#resultEnd = `,"_meta":${JSON.stringify({ [metaNames.server]: info })},"resultType":"complete"}`
  }

  /** @param isModern any JSON may be structured content; older revisions allow objects only */
  fromResponse(response: InternalResponse, isModern: boolean): string {
    const { status, body } = response
    if (status >= 400) return this.failed(errorText(response))
    const media = (response.header('content-type') ?? '').replace(/;.*$/, '').trim()
    if (status >= 300) return this.#content(textBlock(redirectText(response)))
    if (body.length === 0) return this.#content(textBlock('Done.'))
    if (media === blocksMedia) return this.#content(String(body))
    if (media === 'application/json' || media.endsWith('+json'))
      return this.#json(String(body), isModern)
    if (media.startsWith('text/') || media === '') return this.#content(dataBlock(String(body)))
    return this.#content(binaryBlock(Buffer.from(body as Buffer), media))
  }

  /** An error that the model can correct. */
  failed(text: string): string {
    return `{"content":[${textPart(text)}],"isError":true${this.#resultEnd}`
  }

  #json(text: string, isModern: boolean): string {
    const content = `{"content":[{"type":"text","text":${JSON.stringify(text)},${dataMarkText}]`
    const isStructured = isModern || text.startsWith('{')
    return `${content}${isStructured ? `,"structuredContent":${text}` : ''}${this.#resultEnd}`
  }

  #content(blocks: string): string {
    return `{"content":${blocks}${this.#resultEnd}`
  }
}

function textPart(text: string): string {
  return JSON.stringify({ type: 'text', text })
}

function textBlock(text: string): string {
  return `[${textPart(text)}]`
}

function dataBlock(text: string): string {
  return JSON.stringify([{ type: 'text', text, ...dataMark }])
}

function binaryBlock(bytes: Buffer, mimeType: string): string {
  const [kind] = mimeType.split('/')
  const data = bytes.toString('base64')
  if (kind === 'image' || kind === 'audio') return JSON.stringify([{ type: kind, data, mimeType }])
  const resource = { uri: 'answer:', mimeType, blob: data }
  return JSON.stringify([{ type: 'resource', resource }])
}

function redirectText(response: InternalResponse): string {
  return `The response redirects to ${response.header('location') ?? 'elsewhere'}.`
}

/** The error message of a response, with the paths of invalid fields. Internal errors have no details. */
export function errorText(response: InternalResponse): string {
  const { status, body } = response
  const retryAfter = response.header('retry-after')
  const retryText = retryAfter === undefined ? '' : ` Try again in ${retryAfter} s.`
  return `${status} ${readError(String(body))}${retryText}`
}

interface ErrorBody {
  readonly error?: unknown
  readonly errors?: readonly ErrorDetail[]
}

interface ErrorDetail {
  readonly path?: unknown
  readonly message?: unknown
}

/** Each message once: the error of invalid input repeats the messages of its fields. */
function readError(text: string): string {
  try {
    const { error, errors = [] } = JSON.parse(text) as ErrorBody
    const lines = errors.map(toLine)
    const isSummed = errors.every(({ message }) =>
      String(error).includes(String(message).replace(/\.$/, '')),
    )
    return (isSummed && lines.length > 0 ? lines : [String(error), ...lines]).join('\n')
  } catch {
    return text
  }
}

function toLine({ path, message }: ErrorDetail): string {
  const [pathText, text] = [toPath(path), String(message)]
  return text.startsWith(`${pathText} `) ? text : `${pathText}: ${text}`
}

function toPath(path: unknown): string {
  return Array.isArray(path) ? path.join('.') : String(path)
}
