/** What the handlers of resources and prompts answered, as results of the protocol. */
import type { InternalResponse } from '../../index.js'
import { isMembers, ProtocolError, codes, type Members } from './protocol.js'

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
