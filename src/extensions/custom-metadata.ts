/** `createMetadata`: decorators that only store arguments for methods. Packages read them at the start. */
import type { Log } from '../core/log.js'
import { rememberPosition } from '../errors/source-position.js'
import { decorate, type AnyDecorator } from '../metadata/dialect.js'
import { listedClasses } from '../metadata/listed-classes.js'
import { lineage, type Class } from '../metadata/class.js'
import { createMemberMetadata } from '../metadata/class-metadata.js'

/**
 * Marks a method of a provider as a check of `/health/ready`. It takes no arguments, and fails by throwing, by returning
 * `false`, or by taking too long.
 *
 * ```ts
 * class Redis {
 *   @HealthCheck('redis') async ping() { await this.client.ping() }
 * }
 * ```
 *
 * @param name as the response of `/health/ready` shows it
 */
export const HealthCheck = createMetadata<[name: string]>('HealthCheck')

/** A decorator for methods, with functions that read its uses. */
export interface CustomMetadata<Arguments extends readonly unknown[]> {
  (...args: Arguments): AnyDecorator
  /** Returns the decorated methods of a class and its base classes, with the arguments of the decorator. */
  readonly read: (owner: Class) => ReadonlyMap<string, Arguments>
  /**
   * Logs a warning for each decorated class that the process has loaded, but that no module lists. Call it in `onStart`
   * of a provider, unless another process uses such classes.
   */
  readonly warnUnlisted: (application: WarnedApplication) => void
}

/** The part of `ApplicationState` that is needed here. */
export interface WarnedApplication {
  readonly log: Pick<Log, 'warn'>
  /** All providers and controllers. */
  readonly providers: readonly unknown[]
}

/** A decorated method. With standard decorators, its class is known only once metadata of the class is read. */
interface Use {
  readonly member: string
  /** Returns the file and line. */
  readonly position: () => string | undefined
  owner: WeakRef<Class> | undefined
}

/**
 * Creates a decorator for methods of providers that only stores its arguments.
 *
 * ```ts
 * export const Nightly = createMetadata<[hour: number]>('Nightly')
 * class Cleaner { @Nightly(3) tidy() { … } }
 * Nightly.read(Cleaner)   // Map { 'tidy' => [3] }
 * ```
 *
 * @param name the name for messages
 */
export function createMetadata<Arguments extends readonly unknown[]>(
  name: string,
): CustomMetadata<Arguments> {
  const metadata = createMemberMetadata<Arguments>(name)
  const uses: Use[] = []
  const decorator = (...args: Arguments): AnyDecorator => {
    const apply = (...decorated: unknown[]): void => {
      const position = rememberPosition(apply)
      const use: Use = { member: memberOf(decorated[1]), position, owner: undefined }
      const isDecorator = decorate(decorated, ({ owner, member, kind, isStatic }) => {
        if (member === undefined || kind !== 'method' || isStatic)
          throw new TypeError(
            `@${name} on ${owner.name}${member === undefined ? '' : `.${member}`}: it can only be used on a method of an instance.`,
          )
        use.owner = new WeakRef(owner)
        metadata.write(owner, member, args)
      })
      if (!isDecorator) throw new TypeError(`@${name} can only be used on a method.`)
      uses.push(use)
    }
    return apply as AnyDecorator
  }
  return Object.assign(decorator, {
    read: (owner: Class) => metadata.readAll(owner),
    warnUnlisted: ({ log, providers }: WarnedApplication) => {
      const listed = new Set([...providers.flatMap(classOf), ...listedClasses()].flatMap(lineage))
      // Reading the metadata of a class sets the class in the uses of its methods.
      for (const type of listed) metadata.readAll(type)
      const unlisted = uses.filter(({ owner }) => {
        const type = owner?.deref()
        return owner === undefined || (type !== undefined && !listed.has(type))
      })
      for (const ofClass of groupByClass(unlisted))
        log.warn({ code: 'UNLISTED_PROVIDER' }, toWarning(`@${name}`, ofClass))
    },
  })
}

function classOf(provider: unknown): Class[] {
  return typeof provider === 'object' && provider !== null ? [provider.constructor as Class] : []
}

/** @returns the uses of each class; a use whose class is unknown is alone */
function groupByClass(uses: readonly Use[]): Use[][] {
  const byClass = new Map<object, Use[]>()
  for (const use of uses) {
    const key = use.owner?.deref() ?? use
    byClass.set(key, [...(byClass.get(key) ?? []), use])
  }
  return [...byClass.values()]
}

function memberOf(nameOrContext: unknown): string {
  const isContext =
    typeof nameOrContext === 'object' && nameOrContext !== null && 'name' in nameOrContext
  return String(isContext ? nameOrContext.name : nameOrContext)
}

/** @param uses of one class */
function toWarning(decorator: string, uses: readonly Use[]): string {
  const name = uses[0]?.owner?.deref()?.name
  const position = uses[0]?.position()
  const where = position === undefined ? '' : ` (${position})`
  const members = uses.map(({ member }) => member).join(', ')
  return `${name ?? 'A class'}${where} has ${decorator} on ${members}, but no module lists it. Add ${name ?? 'the class'} to the providers of a module, unless another process uses it.`
}
