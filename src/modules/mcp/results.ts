/**
 * What a route answered, as the result of a tool. Text of rows is data: it is structured content, and the same as a text that is marked as
 * such, for the clients that read no structure. Source: decisions, "Third storey: admin and agents", Tools and Records.
 */

import { type InternalResponse, reply, type Reply } from '../../index.js'
import {
  isMembers,
  ProtocolError,
  codes,
  type Members,
  metaNames,
  type ServerInfo,
} from './protocol.js'

/** What the handlers of resources and prompts answered, as results of the protocol. */

/** What is read of it may change at any time, and may be the caller's alone. */
const notKept = { ttlMs: 0, cacheScope: 'private' }

export function resourceResult(
  answer: InternalResponse,
  uri: string,
  mime: string | undefined,
): Members {
  const { body } = answer
  const media = (answer.header('content-type') ?? 'text/plain').replace(/;.*$/, '').trim()
  const mimeType = mime ?? media
  const content = isText(media)
    ? { uri, mimeType, text: body.toString() }
    : { uri, mimeType, blob: Buffer.from(body as Buffer).toString('base64') }
  return { contents: [content], ...notKept }
}

function isText(media: string): boolean {
  return /^text\/|[/+](?:json|xml)$|^application\/(?:javascript|yaml|graphql)$/.test(media)
}

/** A text is what the user says; otherwise the messages as the handler has written them. */
export function promptResult(answer: InternalResponse): Members {
  const media = answer.header('content-type') ?? ''
  const text = answer.body.toString()
  if (!/[/+]json\b/.test(media))
    return { messages: [{ role: 'user', content: { type: 'text', text } }] }
  const value: unknown = JSON.parse(text)
  const messages = Array.isArray(value) ? value : isMembers(value) ? value.messages : undefined
  if (!Array.isArray(messages))
    throw new ProtocolError(codes.internal, 'The prompt gave neither a text nor messages')
  const description =
    isMembers(value) && typeof value.description === 'string'
      ? { description: value.description }
      : {}
  return { ...description, messages: messages.map(toMessage) }
}

function toMessage(message: unknown): Members {
  if (!isMembers(message)) return { role: 'user', content: { type: 'text', text: String(message) } }
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
const dataTail = JSON.stringify(dataMark).slice(1)

/** The media type of a handler's own blocks: `content([...])`. */
export const blocksMedia = 'application/vnd.filigree.mcp-content+json'

/** Writes results as text: what a route answered is JSON already. */
export class ToolResults {
  /** The end of every result of the modern revision. */
  readonly #tail: string

  constructor(info: ServerInfo) {
    this.#tail = `,"_meta":${JSON.stringify({ [metaNames.server]: info })},"resultType":"complete"}`
  }

  /** @param isModern any JSON may be structured; before only objects */
  of(answer: InternalResponse, isModern: boolean): string {
    const { status, body } = answer
    if (status >= 400) return this.failed(wordsOf(answer))
    const media = (answer.header('content-type') ?? '').replace(/;.*$/, '').trim()
    if (status >= 300) return this.#content(textBlock(redirected(answer)))
    if (body.length === 0) return this.#content(textBlock('Done.'))
    if (media === blocksMedia) return this.#content(String(body))
    if (media === 'application/json' || media.endsWith('+json'))
      return this.#json(String(body), isModern)
    if (media.startsWith('text/') || media === '') return this.#content(dataBlock(String(body)))
    return this.#content(binaryBlock(Buffer.from(body as Buffer), media))
  }

  /** Something that the model may do better. */
  failed(words: string): string {
    return `{"content":[${textPart(words)}],"isError":true${this.#tail}`
  }

  #json(text: string, isModern: boolean): string {
    const content = `{"content":[{"type":"text","text":${JSON.stringify(text)},${dataTail}]`
    const isStructured = isModern || text.startsWith('{')
    return `${content}${isStructured ? `,"structuredContent":${text}` : ''}${this.#tail}`
  }

  #content(blocks: string): string {
    return `{"content":${blocks}${this.#tail}`
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

function redirected(answer: InternalResponse): string {
  return `The answer leads to ${answer.header('location') ?? 'elsewhere'}.`
}

/** What the program says of a refusal, with the faults and their paths; of what failed inside nothing is told. */
export function wordsOf(answer: InternalResponse): string {
  const { status, body } = answer
  const after = answer.header('retry-after')
  const wait = after === undefined ? '' : ` Try again in ${after} s.`
  return `${status} ${readError(String(body))}${wait}`
}

interface ErrorBody {
  readonly error?: unknown
  readonly errors?: readonly Fault[]
}

interface Fault {
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

function toLine({ path, message }: Fault): string {
  const [place, words] = [toPath(path), String(message)]
  return words.startsWith(`${place} `) ? words : `${place}: ${words}`
}

function toPath(path: unknown): string {
  return Array.isArray(path) ? path.join('.') : String(path)
}
