/**
 * `@Use`: the interceptors around the handlers of a class, or of a method. Notes only; `createDecorator` writes into
 * the same list.
 */
import type { ClassReference } from '../metadata/class-reference.js'
import { toDecorator, type AnyDecorator, type DecoratorTarget } from '../metadata/dialect.js'
import { createClassNote, createMemberNote, lineage, type Class } from '../metadata/note.js'
import type { NotedDecorator } from '../routing/route-info.js'
import type { EntryInterceptor, Interceptor } from './interceptor.js'

/** An interceptor by its class. */
export interface NamedStand {
  readonly interceptor: ClassReference<Interceptor | EntryInterceptor> | undefined
}

/** A decorator of one's own, as it was written. */
export interface OwnStand {
  readonly decorator: NotedDecorator<readonly unknown[]>
  readonly args: readonly unknown[]
  /** Makes the specification, once. May throw. */
  readonly specify: () => unknown
}

export type Stand = NamedStand | OwnStand

const onClasses = createClassNote<readonly Stand[]>('stands')
const onMethods = createMemberNote<readonly Stand[]>('stands')

/**
 * Puts interceptors around a handler, or around every handler of a class; the first is the outermost. They need not
 * be listed as providers.
 */
export function Use(
  ...interceptors: readonly ClassReference<Interceptor | EntryInterceptor>[]
): AnyDecorator {
  if (interceptors.length === 0)
    throw new TypeError('@Use() names no interceptor. Write @Use(Timing), or remove it.')
  // Without a call it gets what it stands before: a method's class and name, or a context.
  if (interceptors.some((one: unknown) => typeof one !== 'function' && one !== undefined))
    throw new TypeError('@Use has no call, or names what is no class. Write @Use(Timing).')
  return toDecorator((target) => {
    addStands(
      target,
      '@Use',
      interceptors.map((interceptor) => ({ interceptor })),
    )
  })
}

/** Decorators run from the bottom up: each puts itself before what is there. */
export function addStands(
  { owner, member, place, isStatic }: DecoratorTarget,
  name: string,
  stands: readonly Stand[],
): void {
  if (member === undefined) {
    onClasses.write(owner, [...stands, ...(onClasses.readOwn(owner) ?? [])])
    return
  }
  if (place !== 'method' || isStatic) {
    throw new TypeError(
      `${name} on ${owner.name}.${member}: it belongs before a class or a method.`,
    )
  }
  onMethods.update(owner, member, (before = []) => [...stands, ...before])
}

/** Those of a handler, from outside to inside: its class's, a base's first, and its own. */
export function readStands(
  controller: Class,
  member: string,
): { readonly onClass: readonly Stand[]; readonly onMethod: readonly Stand[] } {
  return {
    onClass: lineage(controller).flatMap((ancestor) => onClasses.readOwn(ancestor) ?? []),
    onMethod: onMethods.read(controller, member) ?? [],
  }
}

/** The names of the custom decorators of a handler and its class: `['Throttle', 'CacheFor']`. */
export function decoratorsOf(controller: Class, member: string): string[] {
  const { onClass, onMethod } = readStands(controller, member)
  return [...onClass, ...onMethod].flatMap((stand) =>
    'decorator' in stand ? [stand.decorator.decoratorName] : [],
  )
}
