/** A mail, as it is passed to `send` and as it is stored until it is sent; checks its addresses, headers and attachments. */
import { declareOptions, Field, option, type OptionsOf } from '../../index.js'

/** Parsed, so that the transport does not parse the address again. */
export interface ParsedAddress {
  readonly name: string
  readonly address: string
}

// The domain may use any script. Characters that separate addresses or headers are not allowed.
const plainAddress = /^[^\s\p{Cc}<>()[\]\\,;:"@]{1,64}@[^\s\p{Cc}<>()[\]\\,;:"@]{1,255}$/u
const nameAndAddress = /^(?:"((?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)"|([^\p{Cc}<>,;:"@]*?))\s*<([^<>]+)>$/u

/** @returns undefined if it is not exactly one address */
export function readAddress(text: unknown): ParsedAddress | undefined {
  if (typeof text !== 'string' || text.length > 500) return undefined
  if (plainAddress.test(text)) return { name: '', address: text }
  const [, quoted, bare = '', address = ''] = nameAndAddress.exec(text) ?? []
  if (!plainAddress.test(address)) return undefined
  return { name: quoted?.replace(/\\(.)/gu, '$1') ?? bare.trim(), address }
}

/** An address: `ann@example.com`, `Ann <ann@example.com>`. */
export type Address = string

const messageOptions = declareOptions({
  to: option.any<Address | readonly Address[]>(),
  subject: option.any<string>(),
  /** `text` or `html` is required; both are allowed. */
  text: option.any<string>(),
  html: option.any<string>(),
  /** Default: the `from` of `mail()`. */
  from: option.any<Address>(),
  cc: option.any<Address | readonly Address[]>(),
  bcc: option.any<Address | readonly Address[]>(),
  replyTo: option.any<Address>(),
  headers: option.any<Readonly<Record<string, string>>>(),
  /** Stored with the mail, which may have at most 256 KiB. */
  attachments: option.any<readonly Attachment[]>(),
})

export interface Mail extends OptionsOf<typeof messageOptions> {
  to: Address | readonly Address[]
  subject: string
}

const attachmentOptions = declareOptions({
  filename: option.any<string>(),
  /** Text, or bytes. */
  content: option.any<string | Uint8Array>(),
  /** Default: by the file name. */
  contentType: option.any<string>(),
})

export interface Attachment extends OptionsOf<typeof attachmentOptions> {
  filename: string
  content: string | Uint8Array
}

/** A stored attachment. Bytes are Base64 text. */
export interface StoredAttachment {
  readonly filename: string
  readonly content: string
  readonly encoding: 'utf8' | 'base64'
  readonly contentType?: string
}

/** A line break would start another header. */
const oneLine = { pattern: /^[^\p{Cc}]*$/u }

/** The largest numbers of receivers, headers and attachments. */
const limits = { receivers: 100, headers: 50, attachments: 50 }
/** Characters of a subject or header. */
const maxLineLength = 1000
/** A header's name. Source: RFC 5322, 2.2. */
const headerName = /^[!-9;-~]{1,76}$/
/** Headers that are properties of a mail, and headers that define how the mail is parsed. */
const reservedHeaders =
  /^(?:from|sender|to|cc|bcc|reply-to|subject|date|message-id|mime-version|content-.*)$/i
const mediaType = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(?:; ?[\w-]+=[\w.+-]+)*$/

/** The body of the mail job. */
export class StoredMail {
  @Field('string', { ...oneLine, minLength: 1 }) from!: string
  @Field('string', { ...oneLine, list: true, minItems: 1 }) to!: string[]
  @Field('string', { ...oneLine, list: true, default: () => [] }) cc!: string[]
  @Field('string', { ...oneLine, list: true, default: () => [] }) bcc!: string[]
  @Field('string', { ...oneLine, optional: true }) replyTo?: string
  @Field('string', oneLine) subject!: string
  @Field('text', { optional: true }) text?: string
  @Field('text', { optional: true }) html?: string
  @Field('json', { optional: true }) headers?: Record<string, string>
  @Field('json', { optional: true }) attachments?: StoredAttachment[]
}

/** The properties of `StoredMail` as a plain object. */
type StoredMailContent = { readonly [Name in keyof StoredMail]: StoredMail[Name] }

/** @throws {TypeError} naming the part that is missing, malformed or too large */
export function toStoredMail(mail: Mail, from: string | undefined): StoredMailContent {
  messageOptions.check('mailer.send', mail)
  const { to, cc = [], bcc = [], text, html, attachments, headers, subject, replyTo } = mail
  const sender = mail.from ?? from
  if (sender === undefined)
    throw invalidMail(
      "the sender is missing. Set from, here or to mail({ from: 'desk@example.com' })",
    )
  if (text === undefined && html === undefined)
    throw invalidMail('the mail has neither text nor html')
  if (typeof subject !== 'string' || subject.length > maxLineLength || /\p{Cc}/u.test(subject))
    throw invalidMail(`subject must be one line of at most ${maxLineLength} characters`)
  const stored = {
    subject,
    from: addressOf('from', sender),
    to: listOf('to', to),
    cc: listOf('cc', cc),
    bcc: listOf('bcc', bcc),
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    ...(replyTo === undefined ? {} : { replyTo: addressOf('replyTo', replyTo) }),
    ...(headers === undefined ? {} : { headers: checkHeaders(headers) }),
    ...(attachments === undefined ? {} : { attachments: storeAttachments(attachments) }),
  }
  if (stored.to.length === 0) throw invalidMail('to is empty')
  const receivers = stored.to.length + stored.cc.length + stored.bcc.length
  if (receivers > limits.receivers)
    throw invalidMail(`${receivers} receivers, at most ${limits.receivers}. Send several mails`)
  return stored
}

function invalidMail(problem: string): TypeError {
  return new TypeError(`mailer.send: ${problem}.`)
}

function listOf(where: string, value: Address | readonly Address[]): string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.map((one) => addressOf(where, one))
}

/** The message does not repeat the value, which may come from a stranger. */
function addressOf(where: string, value: unknown): string {
  if (readAddress(value) !== undefined) return value as string
  throw invalidMail(
    `${where} is not one address such as 'ann@example.com' or 'Ann <ann@example.com>'. Give several as a list`,
  )
}

function checkHeaders(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw invalidMail("headers must be an object: { 'X-Desk': '7' }")
  const entries = Object.entries(headers)
  if (entries.length > limits.headers) throw invalidMail(`more than ${limits.headers} headers`)
  for (const [name, value] of entries as [string, unknown][]) {
    if (!headerName.test(name)) throw invalidMail('headers contains an invalid name')
    if (reservedHeaders.test(name))
      throw invalidMail(`headers has "${name}", which the mail sets itself`)
    if (typeof value !== 'string' || value.length > maxLineLength || /\p{Cc}/u.test(value))
      throw invalidMail(
        `headers: "${name}" must be one line of at most ${maxLineLength} characters`,
      )
  }
  return Object.fromEntries(entries)
}

function storeAttachments(attachments: readonly Attachment[]): StoredAttachment[] {
  if (!Array.isArray(attachments) || attachments.length > limits.attachments)
    throw invalidMail(`attachments must be a list of at most ${limits.attachments}`)
  return attachments.map(storeAttachment)
}

/** Copies these properties only: a transport would read a `path` from the disk and an `href` from the network. */
function storeAttachment(attachment: Attachment): StoredAttachment {
  attachmentOptions.check('mailer.send: attachments', attachment)
  const { filename, content, contentType } = attachment
  if (typeof filename !== 'string' || !/^[^\p{Cc}/\\]{1,255}$/u.test(filename))
    throw invalidMail('attachments: filename is not a valid file name')
  if (contentType !== undefined && !mediaType.test(contentType))
    throw invalidMail(
      `attachments: contentType of "${filename}" is not a media type such as 'text/plain'`,
    )
  const fileProperties = { filename, ...(contentType === undefined ? {} : { contentType }) }
  if (typeof content === 'string') return { ...fileProperties, content, encoding: 'utf8' }
  if ((content as unknown) instanceof Uint8Array)
    return {
      ...fileProperties,
      content: Buffer.from(content).toString('base64'),
      encoding: 'base64',
    }
  throw invalidMail(`attachments: content of "${filename}" is neither a string nor bytes`)
}
