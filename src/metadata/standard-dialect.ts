/**
 * The standard decorators of JavaScript (TC39, stage 3), as compilers lower them. A decorator of a member runs before
 * its class exists: its note waits in the class's metadata until the class's notes are read.
 *
 * Source: https://github.com/tc39/proposal-decorators and proposal-decorator-metadata.
 */
// Imported here, because both files that read metadata stand on this one.
import 'reflect-metadata'
import type { DecoratorTarget } from './dialect.js'
import type { Class } from './class-metadata.js'

// Compilers leave metadata out where the platform has no such symbol. This file runs before any class that imports it.
const symbols = Symbol as { metadata?: symbol }
if (symbols.metadata === undefined) {
  Object.defineProperty(Symbol, 'metadata', { value: Symbol.for('Symbol.metadata') })
}
const metadataSymbol = symbols.metadata as unknown as symbol

/** The part of a decorator's context that is read. */
interface StandardContext {
  readonly kind: 'class' | 'method' | 'getter' | 'setter' | 'field' | 'accessor'
  readonly name: string | symbol | undefined
  readonly static?: boolean
  readonly private?: boolean
  readonly metadata?: object
  addInitializer?(initializer: (this: unknown) => void): void
}

type Apply = (target: DecoratorTarget) => void

/** The waiting notes of members, by their class's metadata. */
const waiting = new WeakMap<object, ((owner: Class) => void)[]>()

export function isStandardContext(value: unknown): value is StandardContext {
  return typeof value === 'object' && value !== null && 'kind' in value && 'name' in value
}

/** @throws {TypeError} before a private member, and where the compiler gives no metadata */
export function applyDeferred(value: unknown, context: StandardContext, apply: Apply): void {
  const { kind, name, metadata } = context
  if (metadata === undefined) {
    throw new TypeError(
      'The compiler gave this decorator no metadata. Import filigree before the class is defined.',
    )
  }
  if (kind === 'class') {
    const owner = value as Class
    applyWaiting(owner, metadata)
    apply({ owner, member: undefined, kind: 'class', isStatic: false })
    return
  }
  const member = String(name)
  if (context.private === true) {
    throw new TypeError(`A decorator of Filigree stands before the private member ${member}.`)
  }
  const targetKind = kind === 'method' ? 'method' : 'field'
  const isStatic = context.static === true
  const existing = waiting.get(metadata)
  const list = existing ?? []
  list.push((owner) => {
    apply({ owner, member, kind: targetKind, isStatic })
  })
  if (existing !== undefined) return
  waiting.set(metadata, list)
  // An instance may be made before anybody asks about its class.
  context.addInitializer?.(function () {
    const owner: unknown = isStatic ? this : (this as object).constructor
    if (typeof owner === 'function') settleDecorators(owner as Class)
  })
}

/** Writes the waiting notes of a class's members. To be called before its notes are read. */
export function settleDecorators(owner: Class): void {
  for (let current: unknown = owner; typeof current === 'function';) {
    const metadata: unknown = Object.getOwnPropertyDescriptor(current, metadataSymbol)?.value
    if (typeof metadata === 'object' && metadata !== null) applyWaiting(current as Class, metadata)
    current = Object.getPrototypeOf(current)
  }
}

function applyWaiting(owner: Class, metadata: object): void {
  const list = waiting.get(metadata)
  if (list === undefined) return
  waiting.delete(metadata)
  for (const apply of list) apply(owner)
}
