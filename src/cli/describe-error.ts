/** Describes errors of the application to its developer, with the source lines that they are about. */
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  asProblems,
  DeclarationError,
  isDebugged,
  type Problem,
} from '../errors/declaration-error.js'
import { findImportCycle } from '../errors/import-cycle.js'
import { countOf } from './output.js'
import { toPosix, filesInFolder, importedFiles } from './project-files.js'
import { SourceIndex, type SourceLocation } from './problem-location.js'

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

type StackLocation = Pick<SourceLocation, 'file' | 'line'>

function findLocation(stack: string): StackLocation | undefined {
  for (const [, at = '', line] of stack.matchAll(
    /\(?((?:file:\/\/|\/|[A-Z]:\\)[^()\n]+?):(\d+)(?::\d+)?\)?(?:: ERROR: .*)?$/gm,
  )) {
    const file = at.startsWith('file:') ? fileURLToPath(at) : at
    if (existsSync(file)) return { file, line: Number(line) }
  }
  return undefined
}

/** Reads the lines around a location. Lines with quotes can contain secrets, so these are redacted. */
function readSource(
  { file, line }: StackLocation,
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

interface DescribeOptions {
  /** The folder of the application's sources. Default: the working folder. */
  readonly cwd?: string
  /** The TypeScript source that was loaded. Default: all sources of the folder are searched. */
  readonly entry?: string | undefined
}

/**
 * A report without source lines and stacks, for clients that may not read the sources.
 *
 * @param show removes secrets from a text
 */
export function summarizeError(error: unknown, show: (text: string) => string): string {
  if (error instanceof DeclarationError) {
    const texts = asProblems(error.problems).map(
      ({ code, message, remedy }) => `error[${code}]: ${message} ${remedy}`,
    )
    return show(texts.join('\n\n'))
  }
  const { name, message } = reportError(error, show)
  return `${name}: ${message}`.slice(0, maxSummaryLength)
}

const maxSummaryLength = 2000

/** @returns a report of configuration problems with their source lines, or the message and the stack of another error */
export function describeError(
  prefix: string,
  error: unknown,
  options: DescribeOptions = {},
): string {
  if (error instanceof DeclarationError)
    return describeProblems(prefix, asProblems(error.problems), options)
  if (!(error instanceof Error)) return `${prefix}: ${String(error)}`
  const { message, stack = message } = error
  const cycle = findImportCycle(error)
  const explanation = cycle === undefined ? '' : `\n${cycle.message} ${cycle.remedy}`
  return `${prefix}: ${isDebugged() ? stack : withoutPackageFrames(stack)}${explanation}`
}

function describeProblems(
  prefix: string,
  problems: readonly Problem[],
  { cwd = process.cwd(), entry }: DescribeOptions,
): string {
  const sources = indexSources(cwd, entry)
  const texts = problems.map((problem) => describeProblem(problem, sources?.locate(problem), cwd))
  const code = problems[0]?.code ?? ''
  return `${prefix}: ${countOf(problems.length, 'problem')}\n\n${texts.join('\n')}\nTo read more about it: filigree explain ${code}`
}

/** @returns undefined if the sources cannot be read, because a report without them is better than none */
export function indexSources(cwd: string, entry: string | undefined): SourceIndex | undefined {
  try {
    if (entry !== undefined) return new SourceIndex(importedFiles(entry))
    // Other folders can be large, and are not the application.
    return existsSync(join(cwd, 'package.json')) ? new SourceIndex(filesInFolder(cwd)) : undefined
  } catch {
    return undefined
  }
}

/** Maximum length of a source line in a report. */
const maxLineLength = 120

/**
 * ```
 * error[UNKNOWN_PATH_TYPE]: ItemController.show: unknown type "integer".
 *   --> src/items.ts:12:14
 *    |
 * 12 |   @Get('/<id:integer>')
 *    |              ^^^^^^^
 *    = Did you mean "int"?
 * ```
 */
function describeProblem(
  { code, message, remedy }: Problem,
  location: SourceLocation | undefined,
  cwd: string,
): string {
  const head = `error[${code}]: ${message}`
  if (location === undefined)
    return [head, ...(remedy === '' ? [] : [`  = ${remedy}`]), ''].join('\n')
  const frame = toSourceFrame(location, cwd)
  const margin = marginOf(location)
  return [head, ...frame, ...(remedy === '' ? [] : [`${margin} = ${remedy}`]), ''].join('\n')
}

/** As wide as the line numbers. */
function marginOf({ line }: SourceLocation): string {
  return ' '.repeat(String(line + 1).length)
}

/** The file and line of a location, and the source lines around it with a mark, as `describeProblem` shows them. */
export function toSourceFrame(location: SourceLocation, cwd: string): string[] {
  const { line, column, length, lines } = location
  const margin = marginOf(location)
  const { length: width } = margin
  const show = (number: number): string[] => {
    const text = lines[number - 1]
    if (text === undefined) return []
    return [`${String(number).padStart(width)} | ${text.slice(0, maxLineLength)}`.trimEnd()]
  }
  const isMarkVisible = column + length < maxLineLength
  return [
    `${margin}--> ${toPosix(relative(cwd, location.file))}:${line}:${column}`,
    `${margin} |`,
    ...show(line - 1),
    ...show(line),
    ...(isMarkVisible ? [`${margin} | ${' '.repeat(column - 1)}${'^'.repeat(length)}`] : []),
    ...show(line + 1),
  ]
}

/** The folder of the framework, which is outside of `node_modules` if the package is linked. */
const ownFolders = [new URL('..', import.meta.url)].flatMap((url) => [fileURLToPath(url), url.href])

/** Removes the frames of Node.js, of installed packages and of the framework from a stack. */
export function withoutPackageFrames(stack: string): string {
  const isPackageFrame = (line: string): boolean =>
    (/^\s+at /.test(line) && ownFolders.some((folder) => line.includes(folder))) ||
    /^\s+at .*(?:node:|[\\/]node_modules[\\/])|^\s+at (?:async )?\S+ \(<anonymous>\)$/.test(line)
  return stack
    .split('\n')
    .filter((line) => !isPackageFrame(line))
    .map(withClassName)
    .join('\n')
}

/** esbuild, and so tsx, calls a decorated class that names itself `_Lamps`. */
function withClassName(line: string): string {
  return line.replace(/^(\s+at (?:async |new )?)_(?=[A-Z]\w*[. ])/, '$1')
}
