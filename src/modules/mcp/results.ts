/**
 * What a route answered, as the result of a tool. Text of rows is data: it is structured content, and the same as a text that is marked as
 * such, for the clients that read no structure. Source: decisions, "Third storey: admin and agents", Tools and Records.
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

/** What the handlers of resources and prompts answered, as results of the protocol. */

/** What is read of it may change at any time, and may be the caller's alone. */
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

/** A text is what the user says; otherwise the messages as the handler has written them. */
export function promptResult(response: InternalResponse): JsonObject {
  const media = response.header('content-type') ?? ''
  const text = response.body.toString()
  if (!/[/+]json\b/.test(media))
    return { messages: [{ role: 'user', content: { type: 'text', text } }] }
  const value: unknown = JSON.parse(text)
  const messages = Array.isArray(value) ? value : isJsonObject(value) ? value.messages : undefined
  if (!Array.isArray(messages))
    throw new ProtocolError(codes.internal, 'The prompt gave neither a text nor messages')
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

/** `content`: what a tool answers where JSON is not enough, such as a picture. */

/** A block of a tool's answer, as the protocol writes it. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource'; readonly resource: Readonly<Record<string, unknown>> }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string }

/** Answers with several blocks: `content([{ type: 'text', text: 'A chart' }, { type: 'image', data, mimeType: 'image/png' }])`. */
export function content(blocks: readonly ContentBlock[]): Reply<readonly ContentBlock[]> {
  return reply(blocks).type(blocksMedia)
}

/** What is in a block of content, for those who show it to a model: data of the application, and no words of ours. */
export const dataMark = {
  annotations: { audience: ['assistant'] },
  _meta: { 'filigree/content': 'data' },
}
const dataMarkText = JSON.stringify(dataMark).slice(1)

/** The media type of a handler's own blocks: `content([...])`. */
export const blocksMedia = 'application/vnd.filigree.mcp-content+json'

/** Writes results as text: what a route answered is JSON already. */
export class ToolResults {
  /** The end of every result of the modern revision. */
  readonly #resultEnd: string

  constructor(info: ServerInfo) {
    this.#resultEnd = `,"_meta":${JSON.stringify({ [metaNames.server]: info })},"resultType":"complete"}`
  }

  /** @param isModern any JSON may be structured; before only objects */
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

  /** Something that the model may do better. */
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
  return `The answer leads to ${response.header('location') ?? 'elsewhere'}.`
}

/** What the program says of a refusal, with the faults and their paths; of what failed inside nothing is told. */
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

/** Each sentence once: what is wrong with the input is also summed up in one. */
function readError(text: string): string {
  try {
    const { error, errors = [] } = JSON.parse(text) as ErrorBody
    const lines = errors.map(toLine)
    const isSummed = String(error) === errors.map(({ message }) => message).join('; ')
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
