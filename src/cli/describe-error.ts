/** Describes an error of the application to its developer: as text, or with the source lines where it was thrown. */
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DeclarationError, isDebugged } from '../errors/declaration-error.js'
import { findImportCycle } from '../errors/import-cycle.js'

export interface ErrorReport {
  readonly name: string
  readonly message: string
  /** The frames of the stack in the application's own files. */
  readonly stack: string
  /** The location in the application where the error was thrown. */
  readonly file: string | null
  readonly line: number | null
  readonly source: readonly { readonly line: number; readonly text: string }[]
}

/** Source lines that are shown before and after the location. */
const contextLines = 4

/** @param show removes secrets from a text */
export function reportError(error: unknown, show: (text: string) => string): ErrorReport {
  if (!(error instanceof Error)) {
    return {
      name: 'thrown',
      message: show(String(error)),
      stack: '',
      file: null,
      line: null,
      source: [],
    }
  }
  const stack = withoutPackageFrames(error.stack ?? '')
  const location = findLocation(stack)
  return {
    name: show(error.name),
    message: show(error.message),
    stack: show(
      stack
        .split('\n')
        .filter((text) => /^\s+at /.test(text))
        .join('\n'),
    ),
    file: location === undefined ? null : relative(process.cwd(), location.file),
    line: location?.line ?? null,
    source: location === undefined ? [] : readSource(location, show),
  }
}

interface SourceLocation {
  readonly file: string
  readonly line: number
}

function findLocation(stack: string): SourceLocation | undefined {
  for (const [, at = '', line] of stack.matchAll(
    /\(?((?:file:\/\/|\/|[A-Z]:\\)[^()\n]+?):(\d+):\d+\)?$/gm,
  )) {
    const file = at.startsWith('file:') ? fileURLToPath(at) : at
    if (existsSync(file)) return { file, line: Number(line) }
  }
  return undefined
}

/** Reads the lines around a location. Lines with quotes can contain secrets, so these are redacted. */
function readSource(
  { file, line }: SourceLocation,
  show: (text: string) => string,
): ErrorReport['source'] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n')
    const from = Math.max(0, line - 1 - contextLines)
    return lines.slice(from, line + contextLines).map((text, index) => ({
      line: from + index + 1,
      text: showSource(text, show).slice(0, 200),
    }))
  } catch {
    return []
  }
}

function showSource(text: string, show: (text: string) => string): string {
  // `password: body.password` is worth reading, `password: 'abc'` is not.
  return /["'`]/.test(text) ? show(text) : text
}

/** @returns the report of a DeclarationError, or the message and the stack of another error */
export function describeError(prefix: string, error: unknown): string {
  if (error instanceof DeclarationError)
    return error.message.replace(/^Filigree cannot start:/, `${prefix}:`)
  if (!(error instanceof Error)) return `${prefix}: ${String(error)}`
  const { message, stack = message } = error
  const cycle = findImportCycle(error)
  const explanation = cycle === undefined ? '' : `\n${cycle.message} ${cycle.remedy}`
  return `${prefix}: ${isDebugged() ? stack : withoutPackageFrames(stack)}${explanation}`
}

/** Removes the frames of Node.js and of installed packages from a stack. */
export function withoutPackageFrames(stack: string): string {
  const isPackageFrame = (line: string): boolean =>
    /^\s+at .*(?:node:|[\\/]node_modules[\\/])|^\s+at (?:async )?\S+ \(<anonymous>\)$/.test(line)
  return stack
    .split('\n')
    .filter((line) => !isPackageFrame(line))
    .join('\n')
}
