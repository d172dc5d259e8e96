/** A mail: as programs give it, and as it is kept until it is sent. */

import { Field, rejectUnknownOptions } from '../../index.js'

/** Addresses of mail: `ann@example.com`, `Ann <ann@example.com>`, `"Ann, Dr." <ann@example.com>`. Source: RFC 5322, 3.4. */

/** As transports take them, so that none reads an address a second time. */
export interface ParsedAddress {
  readonly name: string
  readonly address: string
}

// The part behind @ may be in any script; signs that separate addresses or headers are in none.
const plain = /^[^\s\p{Cc}<>()[\]\\,;:"@]{1,64}@[^\s\p{Cc}<>()[\]\\,;:"@]{1,255}$/u
const fileProperties = /^(?:"((?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)"|([^\p{Cc}<>,;:"@]*?))\s*<([^<>]+)>$/u

/** @returns undefined if it is not one address */
export function readAddress(text: unknown): ParsedAddress | undefined {
  if (typeof text !== 'string' || text.length > 500) return undefined
  if (plain.test(text)) return { name: '', address: text }
  const [, quoted, bare = '', address = ''] = fileProperties.exec(text) ?? []
  if (!plain.test(address)) return undefined
  return { name: quoted?.replace(/\\(.)/gu, '$1') ?? bare.trim(), address }
}

/** An address: `ann@example.com`, `Ann <ann@example.com>`. */
export type Address = string

export interface Mail {
  readonly to: Address | readonly Address[]
  readonly subject: string
  /** One of both, or both. */
  readonly text?: string
  readonly html?: string
  /** Default: the `from` of `mail()`. */
  readonly from?: Address
  readonly cc?: Address | readonly Address[]
  readonly bcc?: Address | readonly Address[]
  readonly replyTo?: Address
  readonly headers?: Readonly<Record<string, string>>
  /** Small ones: they are kept with the mail, which has at most 256 KiB. */
  readonly attachments?: readonly Attachment[]
}

export interface Attachment {
  readonly filename: string
  /** Text, or bytes. */
  readonly content: string | Uint8Array
  /** Default by the file's name. */
  readonly contentType?: string
}

/** As it is kept: bytes as base64. */
export interface StoredAttachment {
  readonly filename: string
  readonly content: string
  readonly encoding: 'utf8' | 'base64'
  readonly contentType?: string
}

/** A line break would begin another header. */
const oneLine = { pattern: /^[^\p{Cc}]*$/u }

/** How many receivers, headers and attachments a mail has at most. */
const limits = { receivers: 100, headers: 50, attachments: 50 }
/** Characters of a subject and of a header. */
const maxLineLength = 1000
/** A header's name. Source: RFC 5322, 2.2. */
const headerName = /^[!-9;-~]{1,76}$/
/** What the mail has properties for, and what says how the rest is to be read. */
const reservedHeaders =
  /^(?:from|sender|to|cc|bcc|reply-to|subject|date|message-id|mime-version|content-.*)$/i
const mediaType = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(?:; ?[\w-]+=[\w.+-]+)*$/

/** What the job of a mail keeps. */
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

const mailNames: readonly (keyof Mail)[] = [
  ...(['to', 'subject', 'text', 'html', 'from', 'cc', 'bcc', 'replyTo'] as const),
  ...(['headers', 'attachments'] as const),
]

/** What `KeptMail` has, as a plain object. */
type StoredMailContent = { readonly [Name in keyof StoredMail]: StoredMail[Name] }

/** @throws {TypeError} what is missing, malformed or too much; the message names it */
export function toStoredMail(mail: Mail, from: string | undefined): StoredMailContent {
  refuseUnknownOptions('mailer.send', mail, mailNames)
  const { to, cc = [], bcc = [], text, html, attachments, headers, subject, replyTo } = mail
  const sender = mail.from ?? from
  if (sender === undefined)
    throw invalidMail(
      "there is no sender. Give from, here or to mail({ from: 'desk@example.com' })",
    )
  if (text === undefined && html === undefined)
    throw invalidMail('the mail has neither text nor html')
  if (typeof subject !== 'string' || subject.length > maxLineLength || /\p{Cc}/u.test(subject))
    throw invalidMail(`subject is no line of at most ${maxLineLength} characters`)
  const stored = {
    ...{ subject, from: addressOf('from', sender) },
    ...{ to: listOf('to', to), cc: listOf('cc', cc), bcc: listOf('bcc', bcc) },
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    ...(replyTo === undefined ? {} : { replyTo: addressOf('replyTo', replyTo) }),
    ...(headers === undefined ? {} : { headers: checkHeaders(headers) }),
    ...(attachments === undefined ? {} : { attachments: storeAttachments(attachments) }),
  }
  if (stored.to.length === 0) throw invalidMail('to names nobody')
  const receivers = stored.to.length + stored.cc.length + stored.bcc.length
  if (receivers > limits.receivers)
    throw invalidMail(`${receivers} receivers, at most ${limits.receivers}. Send several mails`)
  return stored
}

function invalidMail(what: string): TypeError {
  return new TypeError(`mailer.send: ${what}.`)
}

function refuseUnknownOptions(where: string, value: object, names: readonly string[]): void {
  for (const { message, remedy } of rejectUnknownOptions(value, names, where))
    throw new TypeError(`${message} ${remedy}`)
}

function listOf(where: string, value: Address | readonly Address[]): string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.map((one) => addressOf(where, one))
}

/** The text itself is not repeated: it may come from a stranger. */
function addressOf(where: string, value: unknown): string {
  if (readAddress(value) !== undefined) return value as string
  throw invalidMail(
    `${where} is not one address such as 'ann@example.com' or 'Ann <ann@example.com>'. Give several as a list`,
  )
}

function checkHeaders(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw invalidMail("headers is no object: { 'X-Desk': '7' }")
  const entries = Object.entries(headers)
  if (entries.length > limits.headers) throw invalidMail(`more than ${limits.headers} headers`)
  for (const [name, value] of entries as [string, unknown][]) {
    if (!headerName.test(name)) throw invalidMail('headers has a name that no header can have')
    if (reservedHeaders.test(name))
      throw invalidMail(`headers has "${name}", which the mail sets itself`)
    if (typeof value !== 'string' || value.length > maxLineLength || /\p{Cc}/u.test(value))
      throw invalidMail(`headers: "${name}" is no line of at most ${maxLineLength} characters`)
  }
  return Object.fromEntries(entries)
}

function storeAttachments(attachments: readonly Attachment[]): StoredAttachment[] {
  if (!Array.isArray(attachments) || attachments.length > limits.attachments)
    throw invalidMail(`attachments is no list of at most ${limits.attachments}`)
  return attachments.map(storeAttachment)
}

/** Only what is named here: a transport would read a `path` from the disk and an `href` from the network. */
function storeAttachment(attachment: Attachment): StoredAttachment {
  refuseUnknownOptions('mailer.send: attachments', attachment, [
    'filename',
    'content',
    'contentType',
  ])
  const { filename, content, contentType } = attachment
  if (typeof filename !== 'string' || !/^[^\p{Cc}/\\]{1,255}$/u.test(filename))
    throw invalidMail('attachments: filename is no name of a file')
  if (contentType !== undefined && !mediaType.test(contentType))
    throw invalidMail(`attachments: contentType of "${filename}" is none such as 'text/plain'`)
  const fileProperties = { filename, ...(contentType === undefined ? {} : { contentType }) }
  if (typeof content === 'string') return { ...fileProperties, content, encoding: 'utf8' }
  if ((content as unknown) instanceof Uint8Array)
    return {
      ...fileProperties,
      content: Buffer.from(content).toString('base64'),
      encoding: 'base64',
    }
  throw invalidMail(`attachments: content of "${filename}" is neither text nor bytes`)
}
