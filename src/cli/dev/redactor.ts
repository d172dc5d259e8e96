/**
 * Leaves secrets out of everything that `filigree dev` shows to programs and on its page. A value is hidden by its name
 * (`passwordConfirmation`, hidden and secured fields), by its shape (tokens, keys), and wherever else it occurs in the same
 * request once it is known to be a secret. Headers are shown by a list.
 */

import { hiddenText, isSecretName, hideShapes } from './secret-patterns.js'
import { memberAccess } from '../../records/rights/record-policy.js'
import { readShape } from '../../fields/shape.js'
import type { Class } from '../../metadata/class-metadata.js'
import { looksLikeDocument, redactDocument, redactNamed } from './redact-text.js'

/**
 * Notes a secret in all the forms in which it may occur again in a request (as it is, encoded for an address, within JSON),
 * and gives the text that is shown in its place. Called by the redactor.
 */

/** How deep values are looked into. */
const deepest = 6
/** Shorter secrets are hidden where they stand, but not looked for elsewhere. */
const shortest = 4

/** Secrets that a request has brought: they are looked for in all that is noted of it. */
export type Seen = Set<string>

/** Notes a secret, and what it looks like elsewhere. */
function hide(value: string, seen: Seen, least = shortest): string {
  const text = value.trim()
  if (text.length >= least && text !== hiddenText) {
    seen.add(text)
    const written = JSON.stringify(text).slice(1, -1)
    for (const other of [decoded(text), encodeURIComponentSafely(text), written])
      if (other.length >= least) seen.add(other)
  }
  return hiddenText
}

/** Notes all values of an object or list as secrets. */
function hideAll(value: unknown, seen: Seen, depth = 0): string {
  if (typeof value === 'string' || typeof value === 'bigint') hide(String(value), seen)
  else if (typeof value === 'number') hide(String(value), seen)
  else if (typeof value === 'object' && value !== null && depth < deepest)
    for (const [, item] of entriesOf(value)) hideAll(item, seen, depth + 1)
  return hiddenText
}

/** `Bearer x`; of `Basic x` the password, too. */
function hideCredentials(header: string, seen: Seen): void {
  const [, scheme = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(header) ?? ['', '', header]
  hide(rest, seen)
  if (scheme.toLowerCase() !== 'basic') return
  const [, password = ''] = /:(.*)$/s.exec(Buffer.from(rest, 'base64').toString()) ?? []
  hide(password, seen)
}

/** The entries of an object; none where it refuses to be read. */
function entriesOf(value: object): [string, unknown][] {
  try {
    return Object.entries(value)
  } catch {
    return []
  }
}

/** Percent-decodes a text twice, since what is passed on is encoded again. */
function decoded(text: string, hasSpaces = true): string {
  let shown = text
  for (let turn = 0; turn < 2 && /[%+]/.test(shown); turn++) {
    try {
      shown = decodeURIComponent(turn === 0 && hasSpaces ? shown.replaceAll('+', ' ') : shown)
    } catch {
      return shown
    }
  }
  return shown
}

function encodeURIComponentSafely(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return text
  }
}

/** Headers whose values are shown, unless these look like secrets. */
const shownHeaders =
  /^(?:accept(?:-charset|-encoding|-language)?|access-control-request-.*|cache-control|connection|content-(?:encoding|language|length|type)|date|dnt|expect|host|if-(?:match|modified-since|none-match|range|unmodified-since)|keep-alive|origin|pragma|prefer|priority|range|referer|sec-ch-.*|sec-fetch-.*|sec-gpc|sec-websocket-(?:extensions|version)|te|trailer|transfer-encoding|upgrade|upgrade-insecure-requests|user-agent|x-requested-with|x-request-id|apollographql-client-(?:name|version))$/

const mostKeys = 100
const mostValues = 2000
const mostRecent = 500
const longest = 4000

export class Redactor {
  /** Names of the applications' hidden and secured fields. */
  readonly #names = new Set<string>()
  /** Secrets of the process. */
  readonly #own: Seen = new Set()

  constructor(environment: Readonly<Record<string, string | undefined>> = {}) {
    for (const [name, value = ''] of Object.entries(environment)) {
      if (name === 'PWD' || name === 'OLDPWD') continue
      if (isSecretName(name) && value.length >= 8) this.#own.add(value)
      const password = /^[a-z][\w+.-]*:\/\/[^\s:/@]*:([^\s@]{4,})@/i.exec(value)?.[1]
      if (password !== undefined) this.#own.add(password).add(decoded(password))
    }
  }

  /** What these classes hide, and what they give to some callers only, is a secret everywhere. */
  learn(types: Iterable<Class>): void {
    for (const type of types) {
      for (const { name, hidden, nested } of readShape(type, []).fields) {
        if (hidden || memberAccess(type, name) !== undefined) this.#names.add(name)
        if (nested !== undefined && !this.#known.has(nested())) this.#learnNested(nested())
      }
    }
  }

  /** Secrets of the last requests: what they have asked for runs on behind them, and fails. */
  readonly recent: Seen = new Set()

  remember(seen: Seen): void {
    for (const secret of seen) if (secret.length >= 6) this.recent.add(secret)
    for (const secret of this.recent) {
      if (this.recent.size <= mostRecent) return
      this.recent.delete(secret)
    }
  }

  /** The names that are told to another process. */
  get names(): readonly string[] {
    return [...this.#names]
  }

  learnNames(names: readonly string[]): void {
    for (const name of names) this.#names.add(name)
  }

  readonly #known = new Set<Class>()

  #learnNested(type: Class): void {
    this.#known.add(type)
    this.learn([type])
  }

  isSecret(name: string): boolean {
    return isSecretName(name, this.#names)
  }

  headers(headers: Readonly<Record<string, string>>, seen: Seen = new Set()) {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, this.#header(name, value, seen)]),
    )
  }

  #header(name: string, value: string, seen: Seen): string {
    if (name === 'referer') return this.url(value, undefined, seen)
    if (shownHeaders.test(name)) return this.text(value, seen)
    if (name === 'cookie')
      for (const pair of value.split(';')) hide(pair.slice(pair.indexOf('=') + 1).trim(), seen)
    else if (name === 'authorization') hideCredentials(value, seen)
    else if (this.isSecret(name) || hideShapes(value) !== value)
      for (const part of [value, ...value.split(/[\s,;]+/)]) hide(part, seen, 8)
    return hiddenText
  }

  /**
   * @param url path and query, or all of it
   * @param pattern of the route: its parameters are judged by their names
   */
  url(url: string, pattern?: string, seen: Seen = new Set()): string {
    const [path = '', query] = url.split(/\?(.*)/s)
    const shown = this.#path(path, pattern, seen)
    if (query === undefined) return shown
    const secret = new Set<string>()
    const pairs = query.split('&').map((pair) => this.#pair(pair, seen, secret))
    const all = pairs.map(([name, value]) => {
      if (name !== 'variables' || secret.size === 0) return [name, value]
      return [name, this.#variables(value, secret, seen)]
    })
    return `${shown}?${all.map((pair) => pair.join('=')).join('&')}`
  }

  #path(path: string, pattern: string | undefined, seen: Seen): string {
    const kinds = pattern?.split('/')
    let isSecretPlace = false
    return path
      .split('/')
      .map((segment, place) => {
        const text = decoded(segment, false)
        const [, name, kind] = /^<(\w+)(?::(\w+))?>$/.exec(kinds?.[place] ?? '') ?? []
        // Behind `/reset/` nobody would type anything but a token; numbers and words are none.
        const isSecret =
          name === undefined
            ? isSecretPlace && kinds === undefined && !/^[a-z]{0,16}$/.test(text)
            : this.isSecret(name) && kind !== 'int'
        isSecretPlace = tokenPlaces.test(text)
        if (isSecret) return hide(text, seen)
        const shown = this.text(text, seen)
        return shown === text ? segment : shown
      })
      .join('/')
  }

  #pair(pair: string, seen: Seen, secret: Set<string>): [name: string, value?: string] {
    const at = pair.indexOf('=')
    if (at === -1) return [this.text(decoded(pair), seen) === decoded(pair) ? pair : hiddenText]
    const name = decoded(pair.slice(0, at))
    const value = decoded(pair.slice(at + 1))
    const shownName = this.text(name, seen)
    if (this.isSecret(name)) return [shownName, hide(value, seen)]
    const shown = this.#text(value, seen, secret, name === 'query')
    if (shown !== value) return [shownName, shown]
    // In base64 `+` is no space.
    const plain = decoded(pair.slice(at + 1), false)
    return [shownName, hideShapes(plain) === plain ? pair.slice(at + 1) : hide(plain, seen)]
  }

  #variables(value: string | undefined, secret: ReadonlySet<string>, seen: Seen): string {
    const given = parsed(decoded(value ?? ''))
    if (given === undefined) return hiddenText
    return JSON.stringify(this.#entries(given, { seen, secret, left: mostValues }, 0))
  }

  /** A copy of a value that can be shown: without secrets, without what is too large. */
  value(value: unknown, seen: Seen = new Set()): unknown {
    return this.#value(value, { seen, secret: none, left: mostValues }, 0)
  }

  /** The details of a line of a log, for a log: errors stay such. */
  details(details: object, seen: Seen): object {
    return Object.fromEntries(
      Object.entries(details).map(([key, item]: [string, unknown]) => {
        if (item instanceof Error) return [key, this.#errorLike(item, seen)]
        return Object.entries(this.value({ [key]: item }, seen) as object)[0] ?? [key, item]
      }),
    )
  }

  #errorLike({ name, message, stack }: Error, seen: Seen): Error {
    const shown = new Error(this.text(message, seen))
    return Object.assign(shown, { name, stack: this.text(stack ?? '', seen) })
  }

  #value(value: unknown, walk: Walk, depth: number): unknown {
    if (typeof value === 'string') return shorten(this.#text(value, walk.seen, new Set()))
    if (typeof value === 'number') return shownNumber(value)
    if (typeof value === 'bigint') return hideShapes(String(value))
    if (typeof value === 'function') return '(a function)'
    if (typeof value === 'symbol') return '(a symbol)'
    if (typeof value !== 'object' || value === null) return value
    if (depth >= deepest || --walk.left < 0) return '…'
    if (value instanceof Date) return value
    if (value instanceof Error) return this.#error(value, walk, depth)
    if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`
    if (Array.isArray(value))
      return value.slice(0, mostKeys).map((item) => this.#value(item, walk, depth + 1))
    return this.#entries(value, walk, depth)
  }

  #error(error: Error, walk: Walk, depth: number): unknown {
    const text = this.text(error.stack ?? error.message, walk.seen)
    if (error.cause === undefined) return text
    return { error: text, cause: this.#value(error.cause, walk, depth + 1) }
  }

  #entries(value: object, walk: Walk, depth: number): object {
    const entries = entriesOf(value).slice(0, mostKeys)
    const { document } = this.#documentOf(value, walk.seen)
    return Object.fromEntries(
      entries.map(([key, item]) => {
        const shownKey = this.text(key, walk.seen)
        if (key === 'query' && document !== undefined) return [shownKey, document.text]
        if (key === 'variables' && document !== undefined && typeof item === 'object' && item)
          return [
            shownKey,
            this.#entries(item, { ...walk, secret: document.secretVariables }, depth + 1),
          ]
        const isSecret = walk.secret.has(key) || this.isSecret(key)
        const inner = walk.secret.size > 0 ? { ...walk, secret: none } : walk
        if (isSecret && !isHarmless(key, item)) return [shownKey, hideAll(item, walk.seen)]
        return [shownKey, this.#value(item, inner, depth + 1)]
      }),
    )
  }

  #documentOf(value: object, seen: Seen) {
    const { query } = value as { query?: unknown }
    if (typeof query !== 'string' || !looksLikeDocument(query)) return {}
    return { document: this.#document(query, seen) }
  }

  #document(source: string, seen: Seen) {
    const found = redactDocument(source, {
      isSecret: (name) => this.isSecret(name),
      text: (text) => this.text(text, seen),
      hide: (value) => void hide(value, seen),
    })
    const text =
      found === undefined
        ? `(a document that cannot be parsed, ${source.length} characters)`
        : shorten(this.#seen(hideShapes(found.text), seen))
    return { text, secretVariables: found?.secretVariables ?? none }
  }

  /** Any text: of a message, a line of the log, an error. */
  text(text: string, seen: Seen = new Set()): string {
    return this.#text(text, seen, new Set())
  }

  #text(text: string, seen: Seen, secret: Set<string>, isQuery = false): string {
    if (text.length < shortest) return text
    if (isQuery && looksLikeDocument(text)) {
      const document = this.#document(text, seen)
      for (const name of document.secretVariables) secret.add(name)
      return document.text
    }
    const json = parsed(text)
    if (json !== undefined) {
      const shown = JSON.stringify(this.#value(json, { seen, secret: none, left: mostValues }, 1))
      return shown === JSON.stringify(json) ? text : shown
    }
    const named = redactNamed(text, {
      isSecret: (name) => this.isSecret(name),
      hide: (value) => void hide(value, seen),
    })
    return this.#seen(hideShapes(named), seen)
  }

  /** A statement as it was sent; only one that an application has written itself has values in it. */
  sql(sql: string, isWritten: boolean, seen: Seen = new Set()): string {
    const names = sql.match(/[A-Za-z_]\w*/g) ?? []
    const shown =
      isWritten && names.some((name) => this.isSecret(name))
        ? sql
            .replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, `'${hiddenText}'`)
            .replace(/'(?:[^']|'')*'/g, `'${hiddenText}'`)
            .replace(/([=<>(,]\s*)\d+(?:\.\d+)?\b/g, `$1${hiddenText}`)
        : sql
    return this.#seen(hideShapes(shown), seen)
  }

  #seen(text: string, seen: Seen): string {
    if (seen.size + this.#own.size === 0) return text
    let shown = text
    // The longest first: one may be a part of another.
    for (const secret of [...seen, ...this.#own].sort((a, b) => b.length - a.length))
      if (shown.includes(secret)) shown = shown.replaceAll(secret, hiddenText)
    return shown
  }
}

interface Walk {
  readonly seen: Seen
  /** Names of variables of a document. */
  readonly secret: ReadonlySet<string>
  /** How many values may still be shown. */
  left: number
}

const none: ReadonlySet<string> = new Set()
const tokenPlaces =
  /^(?:reset|verif\w*|confirm\w*|invit\w*|unsubscribe|magic\w*|tokens?|secrets?|activat\w*|callback|shared?|hooks?|webhooks?)(?:-\w+)*$/i

/** What says nothing of a secret but that there is one; and the codes of errors, `ECONNREFUSED` and `NOT_FOUND`. */
function isHarmless(name: string, value: unknown): boolean {
  if (value === null || value === undefined || value === '' || typeof value === 'boolean')
    return true
  return (
    name === 'code' &&
    /^(?:E[A-Z]{4,}|[A-Z]+(?:_[A-Z]+)+)$/.test(typeof value === 'string' ? value : '')
  )
}

function shownNumber(value: number): number | string {
  const text = String(value)
  return hideShapes(text) === text ? value : hiddenText
}

/** @returns undefined for what is no object and no list */
function parsed(text: string): object | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text) as object
  } catch {
    return undefined
  }
}

function shorten(text: string): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
