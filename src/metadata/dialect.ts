/**
 * The decorator dialects: how a compiler calls decorators and which types it emits. TypeScript's experimental dialect
 * is the usual one; the standard one is in `standard-dialect.ts`. Only this folder knows their call shapes and the
 * `design:*` keys.
 */
import type { Class } from './class-metadata.js'
import { applyDeferred, isStandardContext } from './standard-dialect.js'

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
 * Applies a decorator with the compiler's arguments: at once or, for members in the standard dialect, when the class's
 * notes are first read, because the class does not exist before.
 *
 * @returns false when the arguments are not the compiler's, so that one function can serve both bare (`@Secured`) and
 * called (`@Secured('admin')`)
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

/** Makes a decorator without options. */
export function toDecorator(apply: (target: DecoratorTarget) => void): AnyDecorator {
  return (...args: unknown[]) => {
    if (!decorate(args, apply)) {
      throw new TypeError('A decorator can only be used on a class, a method or a field.')
    }
  }
}

/** True for a class, false for other functions: the `prototype` of a class cannot be assigned. */
export function isClass(value: unknown): value is Class {
  if (typeof value !== 'function') return false
  return Object.getOwnPropertyDescriptor(value, 'prototype')?.writable === false
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
