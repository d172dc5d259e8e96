import 'reflect-metadata'
import type { DecoratorTarget } from './dialect.js'
import type { Class } from './class-metadata.js'

// Compilers emit no metadata if the platform has no such symbol. This file runs before any class that imports it.
const symbols = Symbol as { metadata?: symbol }
if (symbols.metadata === undefined) {
  Object.defineProperty(Symbol, 'metadata', { value: Symbol.for('Symbol.metadata') })
}
const metadataSymbol = symbols.metadata as unknown as symbol

/** The used part of a decorator's context. */
interface StandardContext {
  readonly kind: 'class' | 'method' | 'getter' | 'setter' | 'field' | 'accessor'
  readonly name: string | symbol | undefined
  readonly static?: boolean
  readonly private?: boolean
  readonly metadata?: object
  addInitializer?(initializer: (this: unknown) => void): void
}

type Apply = (target: DecoratorTarget) => void

/** Decorators of members that wait for their class, by the metadata of the class. */
const waiting = new WeakMap<object, ((owner: Class) => void)[]>()

export function isStandardContext(value: unknown): value is StandardContext {
  return typeof value === 'object' && value !== null && 'kind' in value && 'name' in value
}

/**
 * Applies a standard decorator: immediately for a class. A decorator of a member runs before its class exists, so it
 * waits until metadata of the class is read.
 *
 * @throws {TypeError} for private members, and if the compiler emits no metadata
 */
export function applyDeferred(value: unknown, context: StandardContext, apply: Apply): void {
  const { kind, name, metadata } = context
  if (metadata === undefined) {
    throw new TypeError(
      'The compiler passed no metadata to this decorator. Import filigree before the class is defined.',
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
    throw new TypeError(`Decorators of Filigree cannot be used on the private member ${member}.`)
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
  // An instance may be created before metadata of its class is read.
  context.addInitializer?.(function () {
    const owner: unknown = isStatic ? this : (this as object).constructor
    if (typeof owner === 'function') settleDecorators(owner as Class)
  })
}

/** Applies the waiting decorators of a class's members. Call it before metadata of the class is read. */
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
