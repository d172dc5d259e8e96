/**
 * The decorator dialects: how compilers call decorators, and which types they emit. There are two, TypeScript's
 * experimental decorators and the standard decorators of JavaScript (TC39, stage 3). Only this file depends on their
 * calls and on the `design:*` keys. Source: https://github.com/tc39/proposal-decorators and
 * proposal-decorator-metadata.
 */

import 'reflect-metadata'
import { findOtherCopy, hasOtherCopies, markDeclared } from '../errors/copies.js'
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { isClass, type Class } from './class.js'

/** The thing that a decorator is applied to. */
export interface DecoratorTarget {
  readonly owner: Class
  /** `undefined` if it is the class itself. */
  readonly member: string | undefined
  readonly kind: 'class' | 'method' | 'field'
  readonly isStatic: boolean
}

/** A decorator for classes, methods and fields, in both dialects. */
export interface AnyDecorator {
  (target: object, member?: string | symbol, descriptor?: PropertyDescriptor): void
  (value: unknown, context: DecoratorContext): void
}

/**
 * Applies a decorator with the compiler's arguments. Members in the standard dialect are applied when metadata of the
 * class is first read, because the class does not exist before. Everything else is applied immediately.
 *
 * @returns false if the arguments are not the compiler's, so that one function can be used without a call (`@Secured`)
 * and with one (`@Secured('admin')`)
 */
export function decorate(
  args: readonly unknown[],
  apply: (target: DecoratorTarget) => void,
): boolean {
  const [value, context] = args
  if (args.length === 2 && isStandardContext(context)) {
    applyDeferred(value, context, apply)
    return true
  }
  const target = readTarget(args)
  if (target === undefined) return false
  markDeclared(target.owner)
  apply(target)
  return true
}

function readTarget(args: readonly unknown[]): DecoratorTarget | undefined {
  const [target, member, descriptor] = args
  if (args.length === 1 || member === undefined) {
    return args.length <= 3 && isClass(target)
      ? { owner: target, member: undefined, kind: 'class', isStatic: false }
      : undefined
  }
  if (args.length < 2 || args.length > 3 || !isMemberHolder(target)) return undefined
  if (typeof member !== 'string' && typeof member !== 'symbol') return undefined
  const isStatic = typeof target === 'function'
  return {
    owner: (isStatic ? target : target.constructor) as Class,
    member: String(member),
    kind: isMethodDescriptor(descriptor) ? 'method' : 'field',
    isStatic,
  }
}

/** Creates a decorator without options. */
export function toDecorator(apply: (target: DecoratorTarget) => void): AnyDecorator {
  return (...args: unknown[]) => {
    if (!decorate(args, apply)) {
      throw new TypeError('A decorator can only be used on a class, a method or a field.')
    }
  }
}

/** The type that the compiler emitted for a field; `undefined` if it emits none (esbuild, tsx). */
export function emittedFieldType(owner: Class, member: string): unknown {
  return Reflect.getMetadata('design:type', owner.prototype as object, member)
}

/** Copies the emitted type of a field to a class that is derived from another. */
export function copyEmittedType(from: Class, to: Class, member: string): void {
  const type = emittedFieldType(from, member)
  if (type !== undefined) {
    Reflect.defineMetadata('design:type', type, to.prototype as object, member)
  }
}

/** The types that the compiler emitted for a method's arguments; `undefined` if it emits none. */
export function emittedArgumentTypes(owner: Class, member: string): readonly unknown[] | undefined {
  return Reflect.getMetadata('design:paramtypes', owner.prototype as object, member) as
    readonly unknown[] | undefined
}

/** The types that the compiler emitted for the constructor's arguments: only for decorated classes. */
export function emittedConstructorTypes(owner: Class): readonly unknown[] | undefined {
  return Reflect.getMetadata('design:paramtypes', owner) as readonly unknown[] | undefined
}

function isMemberHolder(target: unknown): target is object {
  if (typeof target === 'function') return isClass(target)
  return typeof target === 'object' && target !== null && Object.hasOwn(target, 'constructor')
}

function isMethodDescriptor(descriptor: unknown): boolean {
  return typeof descriptor === 'object' && descriptor !== null && 'value' in descriptor
}

// Compilers emit no metadata if the platform has no such symbol. This file runs before any class that imports it.
const symbols = Symbol as { metadata?: symbol }
const metadataSymbol = symbols.metadata ?? Symbol.for('Symbol.metadata')
if (symbols.metadata === undefined)
  Object.defineProperty(Symbol, 'metadata', { value: metadataSymbol })

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
    markDeclared(owner)
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
  markDeclared(metadata)
  list.push((owner) => {
    apply({ owner, member, kind: targetKind, isStatic })
  })
  if (existing !== undefined) return
  waiting.set(metadata, list)
  // An instance may be created before metadata of its class is read.
  context.addInitializer?.(function () {
    // Nearly always they have been applied already.
    if (!waiting.has(metadata)) return
    const owner: unknown = isStatic ? this : (this as object).constructor
    if (typeof owner === 'function') settleDecorators(owner as Class)
  })
}

/**
 * Applies the waiting decorators of a class's members. Call it before metadata of the class is read.
 *
 * @throws {DeclarationError} another copy of the package has declared the class or a base class, so that its metadata is
 * incomplete here
 */
export function settleDecorators(owner: Class): void {
  const problem = findOtherCopyOf(owner)
  if (problem !== undefined) throw new DeclarationError([problem])
  for (const { type, metadata } of standardMetadata(owner)) applyWaiting(type, metadata)
}

/** @returns a problem if another copy of the package has declared the class or one of its base classes */
export function findOtherCopyOf(owner: Class): Problem | undefined {
  if (!hasOtherCopies()) return undefined
  for (let current: unknown = owner; typeof current === 'function';) {
    const type = current as Class
    const problem = findOtherCopy(type, type.name)
    if (problem !== undefined) return problem
    current = Object.getPrototypeOf(type)
  }
  // Standard decorators of members run before their class exists.
  const found = standardMetadata(owner).map(({ type, metadata }) =>
    findOtherCopy(metadata, type.name),
  )
  return found.find((problem) => problem !== undefined)
}

interface OwnMetadata {
  readonly type: Class
  /** The metadata of the standard decorators of the class itself. */
  readonly metadata: object
}

/** The metadata of standard decorators of a class and its base classes. */
function standardMetadata(owner: Class): OwnMetadata[] {
  const all: OwnMetadata[] = []
  for (let current: unknown = owner; typeof current === 'function';) {
    const metadata: unknown = Object.getOwnPropertyDescriptor(current, metadataSymbol)?.value
    if (typeof metadata === 'object' && metadata !== null)
      all.push({ type: current as Class, metadata })
    current = Object.getPrototypeOf(current)
  }
  return all
}

function applyWaiting(owner: Class, metadata: object): void {
  const list = waiting.get(metadata)
  if (list === undefined) return
  waiting.delete(metadata)
  for (const apply of list) apply(owner)
}
