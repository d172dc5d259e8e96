/** The parts that all commands share: the command's interface, the terminal, exit codes, arguments and tables. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { isMap } from '../core/json.js'
import { didYouMean } from '../errors/did-you-mean.js'

/** Rows of texts as a table for people. */

/** Columns are as wide as their longest text; the last one is not filled. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((text, place) => (widths[place] = Math.max(widths[place] ?? 0, text.length)))
  return rows
    .map((row) =>
      row
        .map((text, place) => (place === row.length - 1 ? text : text.padEnd(widths[place] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
}

/** Reads the arguments of a command; all mistakes read alike. */

/** Each option by its name: a switch, or one that takes a text. */
type OptionKinds = Readonly<Record<string, 'switch' | 'text'>>

type Values<O extends OptionKinds> = {
  readonly [Name in keyof O]: O[Name] extends 'switch' ? boolean : string | undefined
}

interface Arguments<O extends OptionKinds> {
  /** Switches that were not given are false, texts `undefined`. */
  readonly values: Values<O>
  /** What stands there without a name. */
  readonly words: readonly string[]
}

/**
 * @param most how many words there may be, and what the command says of more
 * @throws {UsageError} unknown options, with the one that is near; a text that is missing or too much
 */
export function readArguments<const O extends OptionKinds>(
  args: readonly string[],
  kinds: O,
  most: number | 'any' = 1,
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
  if (most !== 'any' && positionals.length > most) {
    const extra = positionals.slice(most).map((word) => JSON.stringify(word))
    throw new UsageError(`does not know what to do with ${extra.join(', ')}.`)
  }
  return { values: values as Values<O>, words: positionals }
}

function unknownOption(given: string, names: readonly string[]): UsageError {
  const written = names.map((name) => `--${name}`)
  const near = didYouMean(given, written)
  const known = near === '' ? `Options: ${[...written, '--help'].join(', ')}.` : near
  return new UsageError(`unknown option ${given}. ${known}`)
}

/** @returns the value of a text of JSON. @throws {UsageError} where it is none, or no object */
export function readJsonObject(option: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (isMap(value)) return value
  } catch {
    // The same message for both.
  }
  throw new UsageError(`${option} is no JSON object: write '{"sub":"7"}'.`)
}

/** The interface of the commands of `filigree`. */

/** Input and output of a command, so that tests can run it without a process. */

export interface Terminal {
  /** Writes to standard output; resolves once it is written. */
  readonly out: (text: string) => Promise<void>
  /** Writes to standard error. */
  readonly err: (text: string) => Promise<void>
  /** The folder that paths are relative to, and in which `package.json` is read. */
  readonly cwd: string
  /** True where somebody looks at it who sees colours. Default false. */
  readonly hasColours?: boolean
  /** Lets the process import a source; undefined where it can already. */
  readonly loadSources?: ((file: string) => Promise<void>) | undefined
  /** Asks a question and reads a line; undefined where nobody is there to answer. */
  readonly ask?: ((question: string) => Promise<string>) | undefined
}

/** The command was called wrongly: the message and the command's help are shown, and the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

/** Exit codes of every command. */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const

export interface Command {
  /** The help text: how it is called, and what it does. */
  readonly usage: string
  /** What it is for, for the list of all commands: begins with a small letter, without a full stop. */
  readonly summary: string
  /** @returns the exit code @throws {UsageError} */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<number>
}
