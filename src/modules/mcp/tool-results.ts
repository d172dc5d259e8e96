/**
 * What a route answered, as the result of a tool. Text of rows is data: it is structured content, and the same as a text that is marked as
 * such, for the clients that read no structure. Source: decisions, "Third storey: admin and agents", Tools and Records.
 */
import type { InternalResponse } from '../../index.js'
import { metaNames, type ServerInfo } from './protocol.js'

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
