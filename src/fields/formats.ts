/**
 * Well-known forms of text. Each test takes time linear in the length of the text: no pattern has nested repetitions that
 * match the same characters, and long text is refused by its length first.
 */
import { isDate, timestampPattern, toTimestamp } from './kinds/dates.js'
import { isUuid } from './kinds/table.js'
import type { JsonSchema } from './kinds/kind.js'

export interface TextFormat {
  /** Completes "site must be …": `a URL`. */
  readonly label: string
  readonly test: (text: string) => boolean
  /** The same in JSON Schema. `format` is used only if its grammar is the same. */
  readonly schema: JsonSchema
}

const timeOfDay =
  /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/
const slug = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const phone = /^\+[1-9]\d{5,14}$/

export const formats = {
  email: {
    label: 'an email address',
    schema: { format: 'email', pattern: '^[^@]{1,64}@', maxLength: 254 },
    test: isEmail,
  },
  url: {
    label: 'an http or https URL',
    schema: {
      format: 'iri',
      pattern: '^[Hh][Tt][Tt][Pp][Ss]?://(?:[^\\s<>"\\\\^`{|}%]|%[0-9A-Fa-f]{2})+$',
    },
    test: isUrl,
  },
  uuid: { label: 'a UUID', schema: { format: 'uuid', maxLength: 36 }, test: isUuid },
  date: { label: 'a date such as 2026-11-20', schema: { format: 'date' }, test: isDate },
  time: {
    label: 'a time such as 10:30:00',
    schema: { pattern: timeOfDay.source },
    test: upTo(30, timeOfDay),
  },
  'date-time': {
    label: 'an ISO 8601 date and time',
    schema: { pattern: '[Tt ]', maxLength: 40, allOf: [{ pattern: timestampPattern }] },
    test: (text: string) => text.length > 10 && toTimestamp(text) !== undefined,
  },
  hostname: {
    label: 'a host name',
    schema: { format: 'hostname', pattern: '[^.]$' },
    test: isHostname,
  },
  ipv4: { label: 'an IPv4 address', schema: { format: 'ipv4' }, test: isIpv4 },
  ipv6: { label: 'an IPv6 address', schema: { format: 'ipv6' }, test: isIpv6 },
  slug: {
    label: 'lower-case letters, digits and single dashes',
    schema: { pattern: slug.source, maxLength: 200 },
    test: upTo(200, slug),
  },
  phone: {
    label: 'an international phone number such as +4930123456',
    schema: { pattern: phone.source },
    test: upTo(16, phone),
  },
} as const satisfies Readonly<Record<string, TextFormat>>

export type FormatName = keyof typeof formats

/** An address as in the HTML standard, with a dot in the domain and at most 254 characters (RFC 5321 §4.5.3.1). */
function isEmail(text: string): boolean {
  if (text.length > 254) return false
  const at = text.lastIndexOf('@')
  if (at < 1 || at > 64) return false
  const local = text.slice(0, at)
  const domain = text.slice(at + 1)
  const hasValidDots = !local.startsWith('.') && !local.endsWith('.') && !local.includes('..')
  return (
    hasValidDots &&
    /^[\w.!#$%&'*+/=?^`{|}~-]+$/.test(local) &&
    domain.includes('.') &&
    isHostname(domain)
  )
}

function isUrl(text: string): boolean {
  if (text.length > 8192 || !/^https?:\/\/[^\s\\/]/i.test(text)) return false
  // Characters that no IRI contains (RFC 3987 §2.2), although browsers accept them.
  if (/[\s\0-\x1f"<>\\^`{|}]|%(?![0-9a-f]{2})/i.test(text)) return false
  const authority = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1] ?? ''
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  return !longLabel.test(host) && URL.canParse(text)
}

/**
 * A label of a host has at most 63 characters (RFC 1035 §2.3.4). `URL` would take longer labels, and decodes and normalises
 * them in quadratic time. The other three characters are dots as well (UTS #46).
 */
const longLabel = /[^.\u3002\uff0e\uff61]{64}/u

/** RFC 1123 §2.1: labels of letters, digits and inner dashes, at most 63 characters each and 253 in total. */
function isHostname(text: string): boolean {
  if (text.length > 253) return false
  return text
    .split('.')
    .every((label) => label.length <= 63 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i.test(label))
}

function isIpv4(text: string): boolean {
  if (text.length > 15) return false
  const parts = text.split('.')
  return (
    parts.length === 4 &&
    parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)
  )
}

function isIpv6(text: string): boolean {
  return text.length <= 45 && /^[0-9a-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]/`)
}

function upTo(length: number, form: RegExp): (text: string) => boolean {
  return (text) => text.length <= length && form.test(text)
}
