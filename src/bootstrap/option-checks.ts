/** Checks of single options that several places use. */
import type { Problem } from '../errors/declaration-error.js'

/**
 * @param where the beginning of the message: `bootstrap`, or a route
 * @param problems receives any other value, which must not let unknown keys pass
 */
export function checkUnknownKeys(
  where: string,
  value: string | undefined,
  problems: Problem[],
): void {
  if (value === undefined || value === 'refuse' || value === 'drop') return
  const message = `${where}: unknownKeys is "${value}".`
  problems.push({ code: 'INVALID_OPTION', message, remedy: "Write 'refuse' or 'drop'." })
}

/** @returns the list; an empty one if none is given. Anything else becomes a problem. */
export function readList<T>(
  where: string,
  list: readonly T[] | undefined,
  problems: Problem[],
): readonly T[] {
  if (list === undefined) return []
  const value: unknown = list
  if (Array.isArray(value)) return list
  problems.push({
    code: 'INVALID_OPTION',
    message: `${where} is not a list.`,
    remedy: `Write ${where.slice(where.lastIndexOf('.') + 1)}: [${nameOf(value)}].`,
  })
  return []
}

function nameOf(value: unknown): string {
  return typeof value === 'function' && value.name !== '' ? value.name : '…'
}
