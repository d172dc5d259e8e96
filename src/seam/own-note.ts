/** `createNote`: decorators of packages that only say something of a method, for the package to read at the start. */
import { decorate, type AnyDecorator } from '../metadata/dialect.js'
import { createMemberNote, type Class } from '../metadata/note.js'

/** A decorator for methods, and what reads it. */
export interface OwnNote<Arguments extends readonly unknown[]> {
  (...args: Arguments): AnyDecorator
  /** The methods of a class and of its bases that have it, with its arguments. */
  readonly read: (owner: Class) => ReadonlyMap<string, Arguments>
}

/**
 * Makes a decorator for methods of providers, which does nothing but keep its arguments.
 *
 * ```ts
 * export const Nightly = createNote<[hour: number]>('Nightly')
 * class Cleaner { @Nightly(3) tidy() { … } }
 * Nightly.read(Cleaner)   // Map { 'tidy' => [3] }
 * ```
 *
 * @param name as it is written, for messages
 */
export function createNote<Arguments extends readonly unknown[]>(name: string): OwnNote<Arguments> {
  const notes = createMemberNote<Arguments>(name)
  const note = (...args: Arguments): AnyDecorator =>
    ((...decorated: unknown[]): void => {
      const isDecorator = decorate(decorated, ({ owner, member, place, isStatic }) => {
        if (member === undefined || place !== 'method' || isStatic)
          throw new TypeError(
            `@${name} on ${owner.name}${member === undefined ? '' : `.${member}`}: it can only be used on a method of an instance.`,
          )
        notes.write(owner, member, args)
      })
      if (!isDecorator) throw new TypeError(`@${name} can only be used on a method.`)
    }) as AnyDecorator
  return Object.assign(note, { read: (owner: Class) => notes.readAll(owner) })
}
