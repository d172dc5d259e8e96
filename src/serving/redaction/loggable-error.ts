/**
 * Copies errors for the log: name, message, stack, code and cause. Other properties, such as the `config` of an HTTP
 * client, are redacted like bodies and cut. The copy can be read even if the original cannot. Source: decisions, Operations.
 */
import { readProperty, type Redactor, type Secrets } from './redactor.js'

/** Maximum characters of a message, and of a stack in addition to the message. */
const maxTextLength = 8 * 1024
/** Maximum characters of all other properties together, as JSON. */
const maxPropertiesLength = 8 * 1024
/** Maximum number of errors that are copied of one error: its causes, and the errors of an `AggregateError`. */
const maxErrors = 10
const maxProperties = 100

/** The properties of an error that are not copied as other properties. */
const ownNames: ReadonlySet<string> = new Set(['name', 'message', 'stack', 'code', 'cause'])

/**
 * @param thrown any value; it may be frozen, or throw when it is read
 * @param secrets values that are hidden wherever they occur
 * @returns a new error with enumerable other properties. Texts and other primitive values are returned, without secrets
 */
export function toLoggableError(
  thrown: unknown,
  redactor: Redactor,
  secrets: Secrets = new Set(),
): unknown {
  const copier = new ErrorCopier(redactor, secrets)
  return isReference(thrown) ? copier.error(thrown) : copier.value(thrown)
}

/**
 * Replaces the errors among the details of a log line. A value named `err` is an error, whatever it is.
 *
 * @returns the same object if it has no errors
 */
export function withLoggableErrors(details: object, toLogged: (error: unknown) => unknown): object {
  let copy: Record<string, unknown> | undefined
  for (const name of Object.keys(details)) {
    const value = readProperty(details, name)
    if (name !== 'err' && !isError(value)) continue
    copy ??= { ...details }
    copy[name] = toLogged(value)
  }
  return copy ?? details
}

/** The form of a copied error in a JSON log. */
export function toErrorFields(copied: unknown): unknown {
  if (!(copied instanceof Error)) return copied
  const { name, message, stack, cause, ...properties } = copied as Error & { errors?: unknown }
  const { errors } = properties
  return {
    name,
    message,
    stack,
    ...properties,
    ...(Array.isArray(errors) ? { errors: errors.map(toErrorFields) } : {}),
    ...(cause === undefined ? {} : { cause: toErrorFields(cause) }),
  }
}

/** Copies one error with its causes. */
class ErrorCopier {
  readonly #redactor: Redactor
  readonly #secrets: Secrets
  readonly #visited = new Set<object>()
  /** Characters of other properties that can still be copied. */
  #remaining = maxPropertiesLength

  constructor(redactor: Redactor, secrets: Secrets) {
    this.#redactor = redactor
    this.#secrets = secrets
  }

  error(thrown: object): Error {
    this.#visited.add(thrown)
    const message = this.#text(messageOf(thrown))
    const copy = new Error(message)
    const name = readProperty(thrown, 'name')
    const code = readProperty(thrown, 'code')
    setHidden(copy, 'name', typeof name === 'string' ? this.#text(name) : 'Error')
    setHidden(copy, 'stack', this.#stack(thrown, message) ?? `${copy.name}: ${message}`)
    if (typeof code === 'number') Object.assign(copy, { code })
    else if (typeof code === 'string') Object.assign(copy, { code: this.#text(code) })
    this.#copyProperties(thrown, copy)
    const cause = readProperty(thrown, 'cause')
    if (cause !== undefined) setHidden(copy, 'cause', this.#inner(cause))
    return copy
  }

  value(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value)
    return this.#redactor.value(value, this.#secrets, this.#remaining)
  }

  /** Copies a cause, or an error of an `AggregateError`. */
  #inner(value: unknown): unknown {
    if (!isReference(value)) return this.value(value)
    if (this.#visited.has(value)) return '(circular)'
    if (this.#visited.size >= maxErrors) return '…'
    return isError(value) ? this.error(value) : this.#cut(this.value(value))
  }

  /** The lines of the stack's calls contain no values, so they remain as they are. */
  #stack(thrown: object, message: string): string | undefined {
    const stack = readProperty(thrown, 'stack')
    if (typeof stack !== 'string') return undefined
    const original = messageOf(thrown)
    const at = original === '' ? -1 : stack.indexOf(original)
    const head = at === -1 ? '' : this.#text(stack.slice(0, at))
    const calls = at === -1 ? stack : stack.slice(at + original.length)
    const lines = calls
      .slice(0, maxTextLength)
      .split('\n')
      .map((line) => (/^\s+at /.test(line) ? line : this.#text(line)))
    return `${head}${at === -1 ? '' : message}${lines.join('\n')}`
  }

  #copyProperties(thrown: object, copy: Error): void {
    const errors = readProperty(thrown, 'errors')
    const isAggregate = Array.isArray(errors) && errors.length > 0 && errors.every(isError)
    if (isAggregate)
      Object.assign(copy, { errors: errors.slice(0, maxErrors).map((error) => this.#inner(error)) })
    const names = namesOf(thrown).filter((name) => !ownNames.has(name))
    for (const name of names.slice(0, maxProperties)) {
      if (name === 'errors' && isAggregate) continue
      // A property that cannot be read is named, because it may explain the error.
      const value = readProperty(thrown, name, '(cannot be read)')
      if (value === undefined || typeof value === 'function') continue
      const shown = this.#redactor.property(name, value, this.#secrets, this.#remaining)
      Object.defineProperty(copy, name, { value: this.#cut(shown), ...enumerable })
      if (this.#remaining <= 0) return
    }
  }

  /** Cuts a value to the characters that remain. */
  #cut(value: unknown): unknown {
    const json = toJson(value)
    const { length } = json
    const cut = length > this.#remaining ? `${json.slice(0, this.#remaining)}… (cut)` : value
    this.#remaining = Math.max(0, this.#remaining - length)
    return cut
  }

  #text(text: string): string {
    // More is searched than shown, so that the end of the shown text is not a part of a secret.
    const searched = text.slice(0, maxTextLength + 1024)
    const shown = this.#redactor.text(searched, this.#secrets)
    return shown.length > maxTextLength ? `${shown.slice(0, maxTextLength)}…` : shown
  }
}

const enumerable = { enumerable: true, writable: true, configurable: true } as const

/** Sets a property that is not enumerable, as in other errors. */
function setHidden(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, { value, writable: true, configurable: true })
}

function messageOf(thrown: object): string {
  const message = readProperty(thrown, 'message', unreadableMessage)
  if (typeof message === 'string') return message
  return isError(thrown) ? '' : 'The thrown value is not an error.'
}

const unreadableMessage = 'The message of the error cannot be read.'

function namesOf(thrown: object): readonly string[] {
  try {
    return Object.keys(thrown)
  } catch {
    return []
  }
}

function toJson(value: unknown): string {
  try {
    const text: unknown = JSON.stringify(value)
    return typeof text === 'string' ? text : ''
  } catch {
    return ''
  }
}

function isReference(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

/** Errors of other realms have the tag, too. A proxy may throw. */
function isError(value: unknown): value is Error {
  try {
    return value instanceof Error
  } catch {
    return isReference(value)
  }
}
