/** English plurals and singulars, for generated names. */
import { createRequire } from 'node:module'

/** The part of the package `pluralize` that is used. */
interface Pluralize {
  (word: string): string
  singular(word: string): string
}

let library: Pluralize | undefined

function pluralize(): Pluralize {
  library ??= createRequire(import.meta.url)('pluralize') as Pluralize
  return library
}

export function toPlural(word: string): string {
  return pluralize()(word)
}

/** The input field for the keys of a many-to-many relation: `tags` gives `tagIds`. */
export function idsName(relation: string): string {
  return `${pluralize().singular(relation)}Ids`
}
