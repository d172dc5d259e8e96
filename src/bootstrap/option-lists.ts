/** Options that are lists: a value in its place, `controllers: ItemController`, is a problem and not a crash. */
import type { Problem } from '../errors/declaration-error.js'

/** @returns the list; an empty one where none is given, or something else, which becomes a problem */
export function readList<T>(
  where: string,
  given: readonly T[] | undefined,
  problems: Problem[],
): readonly T[] {
  if (given === undefined) return []
  const value: unknown = given
  if (Array.isArray(value)) return given
  problems.push({
    code: 'INVALID_OPTION',
    message: `${where} is no list.`,
    remedy: `Write ${where.slice(where.lastIndexOf('.') + 1)}: [${nameOf(value)}].`,
  })
  return []
}

function nameOf(value: unknown): string {
  return typeof value === 'function' && value.name !== '' ? value.name : '…'
}
