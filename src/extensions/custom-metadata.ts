/** `createMetadata`: decorators that only store arguments for methods. Packages read them at the start. */
import type { Problem } from '../errors/declaration-error.js'
import { decorate, type AnyDecorator } from '../metadata/dialect.js'
import { listedClasses } from '../metadata/listed-classes.js'
import { createMemberMetadata, lineage, type Class } from '../metadata/class-metadata.js'

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
   * For the `check` of a module whose decorator is used on providers: returns a problem for each decorated class that
   * the process has loaded, but that no module lists.
   *
   * @param providers the classes of the application, which are passed to `check`
   */
  readonly findUnlisted: (providers: readonly Class[]) => Problem[]
}

/** A decorated method. With standard decorators, its class is known only once metadata of the class is read. */
interface Use {
  readonly member: string
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
  const decorator = (...args: Arguments): AnyDecorator =>
    ((...decorated: unknown[]): void => {
      const use: Use = { member: memberOf(decorated[1]), owner: undefined }
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
    }) as AnyDecorator
  return Object.assign(decorator, {
    read: (owner: Class) => metadata.readAll(owner),
    findUnlisted: (providers: readonly Class[]) => {
      const listed = new Set([...providers, ...listedClasses()].flatMap(lineage))
      // Reading the metadata of a class sets the class in the uses of its methods.
      for (const type of listed) metadata.readAll(type)
      return uses.flatMap(({ owner, member }) => {
        const type = owner?.deref()
        const isCollected = owner !== undefined && type === undefined
        if (isCollected || (type !== undefined && listed.has(type))) return []
        return [unlisted(`@${name}`, type?.name, member)]
      })
    },
  })
}

function memberOf(nameOrContext: unknown): string {
  const isContext =
    typeof nameOrContext === 'object' && nameOrContext !== null && 'name' in nameOrContext
  return String(isContext ? nameOrContext.name : nameOrContext)
}

function unlisted(decorator: string, type: string | undefined, member: string): Problem {
  return {
    code: 'MISSING_PROVIDER',
    message: `${type === undefined ? member : `${type}.${member}`} has ${decorator}, but no module lists its class.`,
    remedy: `Add ${type ?? 'the class'} to the providers of a module.`,
  }
}
