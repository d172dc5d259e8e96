/** An error of an application as a text for its developer. */
import { DeclarationError, isDebugged } from '../errors/declaration-error.js'
import { findImportCycle } from '../errors/import-cycle.js'

/** Faults of the application are reports; other errors are shown with where they lie in it. */
export function describeFailure(what: string, error: unknown): string {
  if (error instanceof DeclarationError)
    return error.message.replace(/^Filigree cannot start:/, `${what}:`)
  if (!(error instanceof Error)) return `${what}: ${String(error)}`
  const { message, stack = message } = error
  const cycle = findImportCycle(error)
  const explained = cycle === undefined ? '' : `\n${cycle.message} ${cycle.remedy}`
  return `${what}: ${isDebugged() ? stack : withoutOthers(stack)}${explained}`
}

/** A stack without the places in Node and in installed packages, this one among them. */
export function withoutOthers(stack: string): string {
  const isOthers = (line: string): boolean =>
    /^\s+at .*(?:node:|[\\/]node_modules[\\/])|^\s+at (?:async )?\S+ \(<anonymous>\)$/.test(line)
  return stack
    .split('\n')
    .filter((line) => !isOthers(line))
    .join('\n')
}
