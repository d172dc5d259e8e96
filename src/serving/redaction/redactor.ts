/**
 * Removes secrets from errors in the log, and from everything that `filigree dev` shows on its page and sends to programs. A value is hidden if its name
 * is a secret's name (`passwordConfirmation`, hidden and secured fields) or if it looks like a token or key. Once a value is
 * known to be secret, it is also hidden everywhere else in the same request. Headers are hidden unless they are listed.
 */
import { isHarmlessHeader, isSecretName, hiddenText, hideShapes } from '../../core/secrets.js'
import { memberAccess } from '../../records/rights/record-policy.js'
import { shapeOf } from '../../fields/shape.js'
import type { Class } from '../../metadata/class.js'
import { isGraphqlDocument, redactDocument, redactNamed } from './redact-text.js'

/** Levels of nested objects and lists that are copied. */
const maxDepth = 6
/** A shorter secret is hidden under its own name, but not searched for in other texts. */
const minSecretLength = 4

/** The secrets of one request. They are hidden in everything that is recorded for the request. */
export type Secrets = Set<string>

/**
 * Adds a secret in all the forms in which it can occur again: as sent, percent-decoded, percent-encoded and as JSON.
 *
 * @returns the text to show instead of the secret
 */
function hide(value: string, secrets: Secrets, minLength = minSecretLength): string {
  const text = value.trim()
  if (text.length >= minLength && text !== hiddenText) {
    secrets.add(text)
    const jsonText = JSON.stringify(text).slice(1, -1)
    for (const variant of [decoded(text), encodeURIComponentSafely(text), jsonText])
      if (variant.length >= minLength) secrets.add(variant)
  }
  return hiddenText
}

/** Adds all values of an object or list to the secrets. */
function hideAll(value: unknown, secrets: Secrets, depth = 0): string {
  if (typeof value === 'string' || typeof value === 'bigint') hide(String(value), secrets)
  else if (typeof value === 'number') hide(String(value), secrets)
  else if (typeof value === 'object' && value !== null && depth < maxDepth)
    for (const [, item] of entriesOf(value)) hideAll(item, secrets, depth + 1)
  return hiddenText
}

/** Adds the credentials of an `Authorization` header, and for `Basic` also the password alone. */
function hideCredentials(header: string, secrets: Secrets): void {
  const [, scheme = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(header) ?? ['', '', header]
  hide(rest, secrets)
  if (scheme.toLowerCase() !== 'basic') return
  const [, password = ''] = /:(.*)$/s.exec(Buffer.from(rest, 'base64').toString()) ?? []
  hide(password, secrets)
}

/** The entries of an object. A value whose getter or proxy throws is replaced by a text. */
function entriesOf(value: object): [string, unknown][] {
  try {
    return Object.keys(value)
      .slice(0, maxKeys)
      .map((key) => [key, readProperty(value, key, unreadable)])
  } catch {
    return []
  }
}

/** The text that replaces a value that cannot be read. */
const unreadable = '(cannot be read)'

/** @returns the property, or the fallback if a getter or proxy throws */
export function readProperty(value: object, name: string, fallback?: unknown): unknown {
  try {
    return (value as Readonly<Record<string, unknown>>)[name]
  } catch {
    return fallback
  }
}

/** Percent-decodes a text up to two times, because a URL inside a URL is encoded twice. */
function decoded(text: string, hasSpaces = true): string {
  let decodedText = text
  for (let pass = 0; pass < 2 && /[%+]/.test(decodedText); pass++) {
    try {
      decodedText = decodeURIComponent(
        pass === 0 && hasSpaces ? decodedText.replaceAll('+', ' ') : decodedText,
      )
    } catch {
      return decodedText
    }
  }
  return decodedText
}

function encodeURIComponentSafely(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return text
  }
}

const maxKeys = 100
const maxValues = 2000
const maxRecentSecrets = 500
const maxTextLength = 4000
/** Longer texts are cut before they are searched for secrets, because the search takes time. */
const maxSearchedLength = 16 * 1024

export class Redactor {
  /** Names of the application's hidden and secured fields. */
  readonly #names = new Set<string>()
  /** Secrets in the environment variables of the process. */
  readonly #environmentSecrets: Secrets = new Set()

  constructor(environment: Readonly<Record<string, string | undefined>> = {}) {
    for (const [name, value = ''] of Object.entries(environment)) {
      if (name === 'PWD' || name === 'OLDPWD') continue
      if (isSecretName(name) && value.length >= 8) this.#environmentSecrets.add(value)
      const password = /^[a-z][\w+.-]*:\/\/[^\s:/@]*:([^\s@]{4,})@/i.exec(value)?.[1]
      if (password !== undefined) this.#environmentSecrets.add(password).add(decoded(password))
    }
  }

  /** Treats the hidden and secured fields of these classes, and of their nested classes, as secrets. */
  learn(types: Iterable<Class>): void {
    for (const type of types) {
      for (const { name, hidden, nested } of shapeOf(type).fields) {
        if (hidden || memberAccess(type, name) !== undefined) this.#names.add(name)
        if (nested !== undefined && !this.#learnedClasses.has(nested())) this.#learnNested(nested())
      }
    }
  }

  /** Secrets of the latest requests, because work that a request started can log them after the request ended. */
  readonly recent: Secrets = new Set()

  remember(secrets: Secrets): void {
    for (const secret of secrets) if (secret.length >= 6) this.recent.add(secret)
    for (const secret of this.recent) {
      if (this.recent.size <= maxRecentSecrets) return
      this.recent.delete(secret)
    }
  }

  /** The learned names, to send to another process. */
  get names(): readonly string[] {
    return [...this.#names]
  }

  learnNames(names: readonly string[]): void {
    for (const name of names) this.#names.add(name)
  }

  readonly #learnedClasses = new Set<Class>()

  #learnNested(type: Class): void {
    this.#learnedClasses.add(type)
    this.learn([type])
  }

  isSecret(name: string): boolean {
    return isSecretName(name, this.#names)
  }

  headers(headers: Readonly<Record<string, string>>, secrets: Secrets = new Set()) {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, this.#header(name, value, secrets)]),
    )
  }

  #header(name: string, value: string, secrets: Secrets): string {
    if (name === 'referer') return this.url(value, undefined, secrets)
    if (isHarmlessHeader(name)) return this.text(value, secrets)
    if (name === 'cookie')
      for (const pair of value.split(';')) hide(pair.slice(pair.indexOf('=') + 1).trim(), secrets)
    else if (name === 'authorization') hideCredentials(value, secrets)
    else if (this.isSecret(name) || hideShapes(value) !== value)
      for (const part of [value, ...value.split(/[\s,;]+/)]) hide(part, secrets, 8)
    return hiddenText
  }

  /**
   * @param url a complete URL, or its path and query
   * @param pattern of the route. Path parameters are hidden by their names
   */
  url(url: string, pattern?: string, secrets: Secrets = new Set()): string {
    const [path = '', query] = url.split(/\?(.*)/s)
    const redacted = this.#path(path, pattern, secrets)
    if (query === undefined) return redacted
    const secretVariables = new Set<string>()
    const pairs = query.split('&').map((pair) => this.#pair(pair, secrets, secretVariables))
    const all = pairs.map(([name, value]) => {
      if (name !== 'variables' || secretVariables.size === 0) return [name, value]
      return [name, this.#variables(value, secretVariables, secrets)]
    })
    return `${redacted}?${all.map((pair) => pair.join('=')).join('&')}`
  }

  #path(path: string, pattern: string | undefined, secrets: Secrets): string {
    const kinds = pattern?.split('/')
    let followsTokenSegment = false
    return path
      .split('/')
      .map((segment, index) => {
        const text = decoded(segment, false)
        const [, name, kind] = /^<(\w+)(?::(\w+))?>$/.exec(kinds?.[index] ?? '') ?? []
        // The segment after `/reset/` is a token, unless it is a lower-case word.
        const isSecret =
          name === undefined
            ? followsTokenSegment && kinds === undefined && !/^[a-z]{0,16}$/.test(text)
            : this.isSecret(name) && kind !== 'int'
        followsTokenSegment = tokenSegments.test(text)
        if (isSecret) return hide(text, secrets)
        const redacted = this.text(text, secrets)
        return redacted === text ? segment : redacted
      })
      .join('/')
  }

  #pair(
    pair: string,
    secrets: Secrets,
    secretVariables: Set<string>,
  ): [name: string, value?: string] {
    const at = pair.indexOf('=')
    if (at === -1) return [this.text(decoded(pair), secrets) === decoded(pair) ? pair : hiddenText]
    const name = decoded(pair.slice(0, at))
    const value = decoded(pair.slice(at + 1))
    const redactedName = this.text(name, secrets)
    if (this.isSecret(name)) return [redactedName, hide(value, secrets)]
    const redacted = this.#text(value, secrets, secretVariables, name === 'query')
    if (redacted !== value) return [redactedName, redacted]
    // In base64, `+` is not a space.
    const plain = decoded(pair.slice(at + 1), false)
    return [redactedName, hideShapes(plain) === plain ? pair.slice(at + 1) : hide(plain, secrets)]
  }

  #variables(
    value: string | undefined,
    secretVariables: ReadonlySet<string>,
    secrets: Secrets,
  ): string {
    const variables = parseObject(decoded(value ?? ''))
    if (variables === undefined) return hiddenText
    return JSON.stringify(this.#entries(variables, newTraversal(secrets, secretVariables), 0))
  }

  /**
   * Copies a value without its secrets. Long texts and large values are cut, and what cannot be read is replaced.
   *
   * @param maxCharacters texts after this many characters are left out
   */
  value(value: unknown, secrets: Secrets = new Set(), maxCharacters = Infinity): unknown {
    return this.#value(value, newTraversal(secrets, noNames, maxCharacters), 0)
  }

  /** Like `value`, for one property of an object: the name of a secret hides it. */
  property(name: string, value: unknown, secrets: Secrets, maxCharacters?: number): unknown {
    const copy = this.value({ [name]: value }, secrets, maxCharacters) as object
    return Object.values(copy)[0] as unknown
  }

  #value(value: unknown, traversal: Traversal, depth: number): unknown {
    if (typeof value === 'string') return this.#textValue(value, traversal)
    if (typeof value === 'number') return redactNumber(value)
    if (typeof value === 'bigint') return hideShapes(String(value))
    if (typeof value === 'function') return '(a function)'
    if (typeof value === 'symbol') return '(a symbol)'
    if (typeof value !== 'object' || value === null) return value
    if (depth >= maxDepth || --traversal.remainingValues < 0) return '…'
    try {
      return this.#object(value, traversal, depth)
    } catch {
      return unreadable
    }
  }

  #textValue(value: string, traversal: Traversal): string {
    if (traversal.remainingCharacters <= 0) return '…'
    traversal.remainingCharacters -= value.length
    const text = this.#text(value.slice(0, maxSearchedLength), traversal.secrets, new Set())
    return truncate(text)
  }

  /** @throws {unknown} what a proxy throws when it is read */
  #object(value: object, traversal: Traversal, depth: number): unknown {
    if (value instanceof Date) return value
    if (value instanceof Error) return this.#error(value, traversal, depth)
    if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`
    if (Array.isArray(value))
      return value.slice(0, maxKeys).map((item) => this.#value(item, traversal, depth + 1))
    return this.#entries(value, traversal, depth)
  }

  #error(error: Error, traversal: Traversal, depth: number): unknown {
    const shown = readProperty(error, 'stack') ?? readProperty(error, 'message', unreadable)
    const text = this.#textValue(String(shown), traversal)
    const cause = readProperty(error, 'cause')
    if (cause === undefined) return text
    return { error: text, cause: this.#value(cause, traversal, depth + 1) }
  }

  #entries(value: object, traversal: Traversal, depth: number): object {
    const entries = entriesOf(value)
    const { document } = this.#documentOf(value, traversal.secrets)
    return Object.fromEntries(
      entries.map(([key, item]) => {
        const redactedKey = this.text(key, traversal.secrets)
        if (key === 'query' && document !== undefined) return [redactedKey, document.text]
        if (key === 'variables' && document !== undefined && typeof item === 'object' && item)
          return [
            redactedKey,
            this.#entries(
              item,
              { ...traversal, secretVariables: document.secretVariables },
              depth + 1,
            ),
          ]
        const isSecret = traversal.secretVariables.has(key) || this.isSecret(key)
        const inner =
          traversal.secretVariables.size > 0
            ? { ...traversal, secretVariables: noNames }
            : traversal
        if (isSecret && !isHarmless(key, item))
          return [redactedKey, hideAll(item, traversal.secrets)]
        return [redactedKey, this.#value(item, inner, depth + 1)]
      }),
    )
  }

  #documentOf(value: object, secrets: Secrets) {
    const query = readProperty(value, 'query')
    if (typeof query !== 'string' || !isGraphqlDocument(query)) return {}
    return { document: this.#document(query, secrets) }
  }

  #document(source: string, secrets: Secrets) {
    const found = redactDocument(source, {
      isSecret: (name) => this.isSecret(name),
      text: (text) => this.text(text, secrets),
      hide: (value) => void hide(value, secrets),
    })
    const text =
      found === undefined
        ? `(a document that cannot be parsed, ${source.length} characters)`
        : truncate(this.#hideKnown(hideShapes(found.text), secrets))
    return { text, secretVariables: found?.secretVariables ?? noNames }
  }

  /** Redacts any text: a message, a log line, an error. */
  text(text: string, secrets: Secrets = new Set()): string {
    return this.#text(text, secrets, new Set())
  }

  #text(text: string, secrets: Secrets, secretVariables: Set<string>, isQuery = false): string {
    if (text.length < minSecretLength) return text
    if (isQuery && isGraphqlDocument(text)) {
      const document = this.#document(text, secrets)
      for (const name of document.secretVariables) secretVariables.add(name)
      return document.text
    }
    const json = parseObject(text)
    if (json !== undefined) {
      const redacted = JSON.stringify(this.#value(json, newTraversal(secrets, noNames), 1))
      return redacted === JSON.stringify(json) ? text : redacted
    }
    const named = redactNamed(text, {
      isSecret: (name) => this.isSecret(name),
      hide: (value) => void hide(value, secrets),
    })
    return this.#hideKnown(hideShapes(named), secrets)
  }

  /** Redacts a text of the framework about declarations, where `salary: role hr` is a rule and not a value. */
  declaration(text: string, secrets: Secrets = new Set()): string {
    return this.#hideKnown(hideShapes(text), secrets)
  }

  /** @param isWritten the application wrote the SQL itself, so it can contain values */
  sql(sql: string, isWritten: boolean, secrets: Secrets = new Set()): string {
    const names = sql.match(/[A-Za-z_]\w*/g) ?? []
    const redacted =
      isWritten && names.some((name) => this.isSecret(name))
        ? sql
            .replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, `'${hiddenText}'`)
            .replace(/'(?:[^']|'')*'/g, `'${hiddenText}'`)
            .replace(/([=<>(,]\s*)\d+(?:\.\d+)?\b/g, `$1${hiddenText}`)
        : sql
    return this.#hideKnown(hideShapes(redacted), secrets)
  }

  #hideKnown(text: string, secrets: Secrets): string {
    if (secrets.size + this.#environmentSecrets.size === 0) return text
    let redacted = text
    // The longest first, because a secret can be part of another one.
    for (const secret of [...secrets, ...this.#environmentSecrets].sort(
      (a, b) => b.length - a.length,
    ))
      if (redacted.includes(secret)) redacted = redacted.replaceAll(secret, hiddenText)
    return redacted
  }
}

interface Traversal {
  readonly secrets: Secrets
  /** Names of GraphQL variables that are secrets. */
  readonly secretVariables: ReadonlySet<string>
  /** Number of values that can still be copied. */
  remainingValues: number
  /** Number of characters that can still be searched. */
  remainingCharacters: number
}

function newTraversal(
  secrets: Secrets,
  secretVariables: ReadonlySet<string>,
  remainingCharacters = Infinity,
): Traversal {
  return { secrets, secretVariables, remainingValues: maxValues, remainingCharacters }
}

const noNames: ReadonlySet<string> = new Set()
const tokenSegments =
  /^(?:reset|verif\w*|confirm\w*|invit\w*|unsubscribe|magic\w*|tokens?|secrets?|activat\w*|callback|shared?|hooks?|webhooks?)(?:-\w+)*$/i

/** Values that reveal nothing: null, empty texts, booleans, and error codes such as `ECONNREFUSED` and `NOT_FOUND`. */
function isHarmless(name: string, value: unknown): boolean {
  if (value === null || value === undefined || value === '' || typeof value === 'boolean')
    return true
  return (
    name === 'code' &&
    /^(?:E[A-Z]{4,}|[A-Z]+(?:_[A-Z]+)+)$/.test(typeof value === 'string' ? value : '')
  )
}

function redactNumber(value: number): number | string {
  const text = String(value)
  return hideShapes(text) === text ? value : hiddenText
}

/** @returns undefined unless the text is a JSON object or list */
function parseObject(text: string): object | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text) as object
  } catch {
    return undefined
  }
}

function truncate(text: string): string {
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text
}
