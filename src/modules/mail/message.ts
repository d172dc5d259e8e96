/** A mail: as programs give it, and as it is kept until it is sent. */
import { Field } from '../../index.js'

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
export interface KeptAttachment {
  readonly filename: string
  readonly content: string
  readonly encoding: 'utf8' | 'base64'
  readonly contentType?: string
}

/** A line break would begin another header. */
const oneLine = { pattern: /^[^\r\n]*$/ }

/** What the job of a mail keeps. */
export class KeptMail {
  @Field('string', { ...oneLine, minLength: 1 }) from!: string
  @Field('string', { ...oneLine, list: true, minItems: 1 }) to!: string[]
  @Field('string', { ...oneLine, list: true, default: () => [] }) cc!: string[]
  @Field('string', { ...oneLine, list: true, default: () => [] }) bcc!: string[]
  @Field('string', { ...oneLine, optional: true }) replyTo?: string
  @Field('string', oneLine) subject!: string
  @Field('text', { optional: true }) text?: string
  @Field('text', { optional: true }) html?: string
  @Field('json', { optional: true }) headers?: Record<string, string>
  @Field('json', { optional: true }) attachments?: KeptAttachment[]
}

export const mailNames: readonly (keyof Mail)[] = [
  ...(['to', 'subject', 'text', 'html', 'from', 'cc', 'bcc', 'replyTo'] as const),
  ...(['headers', 'attachments'] as const),
]

/** What `KeptMail` has, as a plain object. */
type KeptContent = { readonly [Name in keyof KeptMail]: KeptMail[Name] }

/** @throws {TypeError} nobody it is from, nobody it is to, or no content */
export function toKeptMail(mail: Mail, from: string | undefined): KeptContent {
  const { to, cc = [], bcc = [], text, html, attachments, ...rest } = mail
  const sender = mail.from ?? from
  if (sender === undefined)
    throw new TypeError(
      "mailer.send: there is no sender. Give from, here or to mail({ from: 'desk@example.com' }).",
    )
  if (text === undefined && html === undefined)
    throw new TypeError('mailer.send: the mail has neither text nor html.')
  return {
    ...rest,
    from: sender,
    to: listOf(to),
    cc: listOf(cc),
    bcc: listOf(bcc),
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    ...(attachments === undefined ? {} : { attachments: attachments.map(keep) }),
  }
}

function listOf(given: Address | readonly Address[]): string[] {
  return typeof given === 'string' ? [given] : [...given]
}

function keep({ content, ...rest }: Attachment): KeptAttachment {
  return typeof content === 'string'
    ? { ...rest, content, encoding: 'utf8' }
    : { ...rest, content: Buffer.from(content).toString('base64'), encoding: 'base64' }
}
