/** The parts that all commands share: the command's interface, its terminal, options, exit codes and text tables. */
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { isMap } from '../core/json.js'
import { didYouMean } from '../errors/did-you-mean.js'
import type { Paint } from './colours.js'

/** The groups of `filigree --help`, in their order. */
export const commandGroups = ['Develop', 'Check', 'Generate', 'Data', 'Operate', 'Shell'] as const

/** A command. Parsing, help texts and shell completion are made from this description. */
export interface Command {
  readonly group: (typeof commandGroups)[number]
  /** The call without options: `filigree backup <file>`. */
  readonly usage: string
  /** Purpose in the list of commands. Begins with a small letter, without a full stop. */
  readonly summary: string
  /** Full sentences for `--help`. */
  readonly description: string
  readonly options: OptionDefinitions
  /** The first argument, if it is one of several actions, with their purposes. */
  readonly actions?: Readonly<Record<string, string>>
  /** Complete command lines. */
  readonly examples: readonly string[]
  /** @returns the exit code @throws {UsageError} */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>
}

export interface OptionDefinition {
  readonly type: 'boolean' | 'string'
  /** The placeholder of a string in help texts: `<file>`. */
  readonly value?: string
  readonly help: string
  /** Values that shell completion offers. */
  readonly choices?: readonly string[]
}

/** Options by their names without dashes. */
export type OptionDefinitions = Readonly<Record<string, OptionDefinition>>

/** The option that names the application in every command. */
export const moduleOption = {
  type: 'string',
  value: '<file>',
  help: 'the file of the application. Default: "filigree": { "module": … } in package.json',
} as const

/** Input and output of a command, so that tests can run it without a process. */
export interface Terminal {
  /** Writes to standard output. Resolves after the text is written. */
  readonly out: (text: string) => Promise<void>
  /** Writes to standard error. */
  readonly err: (text: string) => Promise<void>
  /** The working folder: relative paths and `package.json` are read from here. */
  readonly cwd: string
  /** True if standard output shows colours. Default false. */
  readonly hasColours?: boolean
  /** True if standard error shows colours. Default false. */
  readonly hasErrorColours?: boolean
  /** Prepares the process to import TypeScript sources. Undefined if that is not necessary. */
  readonly loadSources?: ((file: string) => Promise<void>) | undefined
  /** Asks a question and reads a line. Undefined without an interactive terminal. */
  readonly prompt?: ((question: string) => Promise<string>) | undefined
  /** Writes the progress of long work to standard error. Undefined if nobody watches, for example in a pipe. */
  readonly progress?: ((text: string) => void) | undefined
}

/** Thrown for wrong arguments. The message and the usage are shown, and the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** Exit codes of every command. */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const

type Values<O extends OptionDefinitions> = {
  readonly [Name in keyof O]: O[Name]['type'] extends 'boolean' ? boolean : string | undefined
}

interface Arguments<O extends OptionDefinitions> {
  /** Missing booleans are false, missing strings are undefined. */
  readonly values: Values<O>
  /** Arguments that do not belong to an option. */
  readonly positionals: readonly string[]
}

/**
 * Reads the arguments of a command.
 *
 * @throws {UsageError} an unknown option, a missing or unexpected value, or too many positional arguments
 */
export function readArguments<O extends OptionDefinitions>(
  args: readonly string[],
  options: O,
  maxPositionals = 1,
): Arguments<O> {
  const values: Record<string, unknown> = {}
  const types: Record<string, { type: 'boolean' | 'string' }> = {}
  for (const [name, { type }] of Object.entries(options)) {
    types[name] = { type }
    values[name] = type === 'boolean' ? false : undefined
  }
  // Not strict, because the errors of `parseArgs` do not suggest names.
  const { tokens, positionals } = parseArgs({
    ...{ args: [...args], options: types },
    ...{ allowPositionals: true, strict: false, tokens: true },
  })
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    if (!Object.hasOwn(options, name)) throw unknownOption(rawName, Object.keys(options))
    const isBoolean = options[name]?.type === 'boolean'
    if (!isBoolean && (value === undefined || value === ''))
      throw new UsageError(`${rawName} needs a value.`)
    if (isBoolean && value !== undefined) throw new UsageError(`${rawName} takes no value.`)
    values[name] = isBoolean || value
  }
  const extra = positionals.slice(maxPositionals).map((text) => JSON.stringify(text))
  if (extra.length > 0) throw new UsageError(`unexpected argument ${extra.join(', ')}.`)
  return { values: values as Values<O>, positionals }
}

function unknownOption(option: string, names: readonly string[]): UsageError {
  const options = [...names.map((name) => `--${name}`), '--help']
  const suggestion = didYouMean(option, options)
  const hint = suggestion === '' ? `Options: ${options.join(', ')}.` : suggestion
  return new UsageError(`unknown option ${option}. ${hint}`)
}

/**
 * @returns the file of the application: the option `--module`, or the argument of the command
 * @throws {UsageError} there are both
 */
export function readModuleArgument(
  { module }: { readonly module: string | undefined },
  [argument]: readonly string[],
): string | undefined {
  if (module !== undefined && argument !== undefined)
    throw new UsageError(`both --module ${module} and ${argument} are given. Name one file.`)
  return module ?? argument
}

/** @throws {UsageError} the text is not a JSON object */
export function readJsonObject(option: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isMap(value)) return value
  } catch {
    // Invalid JSON and other values have the same message.
  }
  throw new UsageError(`${option} is not a JSON object. Write '{"sub":"7"}'.`)
}

/** @throws {UsageError} the text is not an integer from `min` */
export function readInteger(option: string, text: string, min = 1): number {
  if (/^\d{1,15}$/.test(text) && Number(text) >= min) return Number(text)
  throw new UsageError(`${option} ${text} is not a number from ${min}.`)
}

/** Writes a value as JSON with a line feed. */
export function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** @returns the rows as lines of a text table. Each column except the last is as wide as its longest text. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((text, column) => (widths[column] = Math.max(widths[column] ?? 0, widthOf(text))))
  const lines = rows.map((row) => {
    const cells = row.map((text, column) =>
      column === row.length - 1 ? text : text + ' '.repeat((widths[column] ?? 0) - widthOf(text)),
    )
    return `${cells.join('  ').trimEnd()}\n`
  })
  return lines.join('')
}

function widthOf(text: string): number {
  return stripVTControlCharacters(text).length
}

/** Headings of a table, bold in a terminal with colours. */
export function toHeading(paint: Paint, ...headings: readonly string[]): string[] {
  return headings.map((heading) => paint('bold', heading))
}

/** @returns a time for people: `85 ms`, `1.2 s`, `2 min 5 s` */
export function describeTime(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** @returns a size for people: `512 bytes`, `3.4 MB` */
export function describeSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  const units = ['kB', 'MB', 'GB', 'TB']
  const exponent = Math.min(units.length, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1000 ** exponent).toFixed(1)} ${units[exponent - 1] ?? ''}`
}
