/**
 * The decorator dialect: how the compiler calls a decorator and what it emits about types. Today the experimental
 * dialect of TypeScript; nothing outside this folder knows its call shapes or its `design:*` keys.
 */
import 'reflect-metadata'
import type { Class } from './note.js'

/** What a decorator stands on. */
export interface DecoratorTarget {
  readonly owner: Class
  /** `undefined` where the class itself is decorated. */
  readonly member: string | undefined
  readonly place: 'class' | 'method' | 'field'
  readonly isStatic: boolean
}

/** Fits classes, methods and fields. */
export type AnyDecorator = (
  target: object,
  member?: string | symbol,
  descriptor?: PropertyDescriptor,
) => void

const wrongDialect =
  'The decorators were compiled in the standard dialect. ' +
  'Set "experimentalDecorators": true in the tsconfig.json that covers this file.'

/**
 * Reads a decorator's call. Answers `undefined` when the arguments are not the compiler's, so that one function can
 * serve both bare (`@Secured`) and called (`@Secured('admin')`).
 *
 * @throws {TypeError} when the compiler speaks the standard dialect
 */
export function readTarget(args: readonly unknown[]): DecoratorTarget | undefined {
  const [target, member, descriptor] = args
  if (isStandardContext(member)) throw new TypeError(wrongDialect)
  if (args.length === 1 || member === undefined) {
    return args.length <= 3 && isClass(target)
      ? { owner: target, member: undefined, place: 'class', isStatic: false }
      : undefined
  }
  if (args.length < 2 || args.length > 3 || !isMemberHolder(target)) return undefined
  if (typeof member !== 'string' && typeof member !== 'symbol') return undefined
  const isStatic = typeof target === 'function'
  return {
    owner: (isStatic ? target : target.constructor) as Class,
    member: String(member),
    place: isMethodDescriptor(descriptor) ? 'method' : 'field',
    isStatic,
  }
}

/** Makes a decorator that can only be called by the compiler. */
export function toDecorator(apply: (target: DecoratorTarget) => void): AnyDecorator {
  return (...args: unknown[]) => {
    const target = readTarget(args)
    if (target === undefined)
      throw new TypeError('A decorator belongs before a class, a method or a field.')
    apply(target)
  }
}

/** True for a class, false for any other function: a class's `prototype` cannot be assigned. */
export function isClass(value: unknown): value is Class {
  if (typeof value !== 'function') return false
  return Object.getOwnPropertyDescriptor(value, 'prototype')?.writable === false
}

/** The type the compiler emitted for a field; `undefined` where it emits none (esbuild, tsx). */
export function emittedFieldType(owner: Class, member: string): unknown {
  return Reflect.getMetadata('design:type', owner.prototype as object, member)
}

/** Lets a class made of another have the emitted type of its field. */
export function copyEmittedType(from: Class, to: Class, member: string): void {
  const type = emittedFieldType(from, member)
  if (type !== undefined) {
    Reflect.defineMetadata('design:type', type, to.prototype as object, member)
  }
}

/** The types the compiler emitted for a method's arguments; `undefined` where it emits none. */
export function emittedArgumentTypes(owner: Class, member: string): readonly unknown[] | undefined {
  return Reflect.getMetadata('design:paramtypes', owner.prototype as object, member) as
    readonly unknown[] | undefined
}

/** The types the compiler emitted for the constructor's arguments: only on decorated classes. */
export function emittedConstructorTypes(owner: Class): readonly unknown[] | undefined {
  return Reflect.getMetadata('design:paramtypes', owner) as readonly unknown[] | undefined
}

/** What compilers without `experimentalDecorators` hand over in second place. */
function isStandardContext(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'kind' in value && 'name' in value
}

function isMemberHolder(target: unknown): target is object {
  if (typeof target === 'function') return isClass(target)
  return typeof target === 'object' && target !== null && Object.hasOwn(target, 'constructor')
}

function isMethodDescriptor(descriptor: unknown): boolean {
  return typeof descriptor === 'object' && descriptor !== null && 'value' in descriptor
}
