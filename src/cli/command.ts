/** The parts that all commands share: the command's interface, the terminal, exit codes, arguments and tables. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { isMap } from '../core/json.js'
import { didYouMean } from '../errors/did-you-mean.js'

/** @returns the rows as lines of a text table. Each column except the last is as wide as its longest text. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((text, column) => (widths[column] = Math.max(widths[column] ?? 0, text.length)))
  return rows
    .map((row) =>
      row
        .map((text, column) =>
          column === row.length - 1 ? text : text.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
}

/** The kind of each option by its name: a switch without a value, or a text. */
type OptionKinds = Readonly<Record<string, 'switch' | 'text'>>

type Values<O extends OptionKinds> = {
  readonly [Name in keyof O]: O[Name] extends 'switch' ? boolean : string | undefined
}

interface Arguments<O extends OptionKinds> {
  /** Missing switches are false, missing texts are undefined. */
  readonly values: Values<O>
  /** Arguments that do not belong to an option. */
  readonly positionals: readonly string[]
}

/**
 * Reads the arguments of a command.
 *
 * @throws {UsageError} an unknown option, a missing or unexpected value, or too many positional arguments
 */
export function readArguments<const O extends OptionKinds>(
  args: readonly string[],
  kinds: O,
  maxPositionals: number | 'any' = 1,
): Arguments<O> {
  const options: NonNullable<ParseArgsConfig['options']> = {}
  for (const [name, kind] of Object.entries(kinds))
    options[name] = { type: kind === 'switch' ? 'boolean' : 'string' }
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const values: Record<string, unknown> = {}
  for (const [name, kind] of Object.entries(kinds))
    values[name] = kind === 'switch' ? false : undefined
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const kind = Object.hasOwn(kinds, token.name) ? kinds[token.name] : undefined
    if (kind === undefined) throw unknownOption(token.rawName, Object.keys(kinds))
    if (kind === 'text' && (token.value === undefined || token.value === ''))
      throw new UsageError(`${token.rawName} needs a value.`)
    if (kind === 'switch' && token.value !== undefined)
      throw new UsageError(`${token.rawName} takes no value.`)
    values[token.name] = kind === 'switch' ? true : token.value
  }
  if (maxPositionals !== 'any' && positionals.length > maxPositionals) {
    const extra = positionals.slice(maxPositionals).map((text) => JSON.stringify(text))
    throw new UsageError(`does not know what to do with ${extra.join(', ')}.`)
  }
  return { values: values as Values<O>, positionals }
}

function unknownOption(option: string, names: readonly string[]): UsageError {
  const options = names.map((name) => `--${name}`)
  const near = didYouMean(option, options)
  const hint = near === '' ? `Options: ${[...options, '--help'].join(', ')}.` : near
  return new UsageError(`unknown option ${option}. ${hint}`)
}

/** @throws {UsageError} the text is not a JSON object */
export function readJsonObject(option: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isMap(value)) return value
  } catch {
    // Invalid JSON and other values have the same message.
  }
  throw new UsageError(`${option} is no JSON object: write '{"sub":"7"}'.`)
}

/** Input and output of a command, so that tests can run it without a process. */
export interface Terminal {
  /** Writes to standard output. Resolves after the text is written. */
  readonly out: (text: string) => Promise<void>
  /** Writes to standard error. */
  readonly err: (text: string) => Promise<void>
  /** The working folder: relative paths and `package.json` are read from here. */
  readonly cwd: string
  /** True for a terminal that shows colours. Default false. */
  readonly hasColours?: boolean
  /** Prepares the process to import TypeScript sources. Undefined if that is not necessary. */
  readonly loadSources?: ((file: string) => Promise<void>) | undefined
  /** Asks a question and reads a line. Undefined without an interactive terminal. */
  readonly prompt?: ((question: string) => Promise<string>) | undefined
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

export interface Command {
  /** The help text. Its first line is the form of the call. */
  readonly usage: string
  /** Purpose in the list of commands. Begins with a small letter, without a full stop. */
  readonly summary: string
  /** @returns the exit code @throws {UsageError} */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>
}
