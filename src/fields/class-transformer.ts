/**
 * class-transformer as a source of classes: `@Type(() => Item)` says what a nested list holds. Nothing is imported: an
 * application that uses the package has loaded it, and its notes lie in the file that all of its decorators write to.
 */
import { createRequire } from 'node:module'
import type { Class } from '../metadata/note.js'

interface TypeNote {
  readonly typeFunction: (options?: unknown) => unknown
}

interface TransformerStorage {
  findTypeMetadata(target: Class, propertyName: string): TypeNote | undefined
}

const storageFile = /[\\/]class-transformer[\\/]cjs[\\/]storage\.js$/

/** @returns a thunk of the class that `@Type` names for the property; `undefined` where there is none */
export function transformedType(type: Class, member: string): (() => Class) | undefined {
  const note = storage()?.findTypeMetadata(type, member)
  return note === undefined ? undefined : () => note.typeFunction() as Class
}

function storage(): TransformerStorage | undefined {
  const { cache } = createRequire(import.meta.url)
  const name = Object.keys(cache).find((path) => storageFile.test(path))
  const loaded: unknown = name === undefined ? undefined : cache[name]?.exports
  return (loaded as { defaultMetadataStorage?: TransformerStorage } | undefined)
    ?.defaultMetadataStorage
}
