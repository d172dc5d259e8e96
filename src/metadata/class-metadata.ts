/**
 * Typed metadata of classes and their members. Decorators write it, and the start reads it once. Each feature creates
 * its own metadata here.
 */
import { markDeclared } from '../errors/copies.js'
import { lineage, type Class } from './class.js'
import { settleDecorators } from './dialect.js'

/** One value per class. A subclass without a value has the value of its base class. */
export interface ClassMetadata<T> {
  write(owner: Class, value: T): void
  /** Returns the value of the class, otherwise of its nearest base class with a value. */
  read(owner: Class): T | undefined
  /** Returns the value of the class itself. */
  readOwn(owner: Class): T | undefined
}

/** One value per member of a class, by name. A subclass inherits values and may overwrite them. */
export interface MemberMetadata<T> {
  write(owner: Class, member: string, value: T): void
  /** Replaces the value of a member of this class. `change` gets `undefined` if the class itself has none yet. */
  update(owner: Class, member: string, change: (before: T | undefined) => T): void
  /** Returns all members with values in the order of declaration. Members of base classes come first. */
  readAll(owner: Class): ReadonlyMap<string, T>
  read(owner: Class, member: string): T | undefined
}

/** @param name for debuggers. Metadata with equal names is independent */
export function createClassMetadata<T>(name: string): ClassMetadata<T> {
  const key = Symbol(`filigree:${name}`)
  return {
    write: (owner, value) => {
      markDeclared(owner)
      Reflect.defineMetadata(key, value, owner)
    },
    read: (owner) => {
      settleDecorators(owner)
      return Reflect.getMetadata(key, owner) as T | undefined
    },
    readOwn: (owner) => {
      settleDecorators(owner)
      return Reflect.getOwnMetadata(key, owner) as T | undefined
    },
  }
}

/** @param name for debuggers. Metadata with equal names is independent */
export function createMemberMetadata<T>(name: string): MemberMetadata<T> {
  const membersByClass = createClassMetadata<Map<string, T>>(name)
  const readAll = (owner: Class): Map<string, T> => {
    const merged = new Map<string, T>()
    for (const ancestor of lineage(owner)) {
      for (const [member, value] of membersByClass.readOwn(ancestor) ?? [])
        merged.set(member, value)
    }
    return merged
  }
  const update: MemberMetadata<T>['update'] = (owner, member, change) => {
    const members = membersByClass.readOwn(owner) ?? new Map<string, T>()
    members.set(member, change(members.get(member)))
    membersByClass.write(owner, members)
  }
  return {
    update,
    write: (owner, member, value) => {
      update(owner, member, () => value)
    },
    readAll,
    read: (owner, member) => readAll(owner).get(member),
  }
}
