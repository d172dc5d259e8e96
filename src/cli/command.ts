/** The parts that all commands share: the command's interface, its terminal and its arguments. */
import { parseArgs } from 'node:util'
import { isMap } from '../core/json.js'
import { didYouMean } from '../errors/did-you-mean.js'

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
  /** @returns false if the exit code is 1 @throws {UsageError} */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<boolean>
}

interface OptionDefinition {
  readonly type: 'boolean' | 'string'
  /** The placeholder of a string in help texts: `<file>`. */
  readonly value?: string
  readonly help: string
  /** Values that shell completion offers. Empty or undefined for any value. */
  readonly choices?: readonly string[]
}

/** Options by their names without dashes. */
type OptionDefinitions = Readonly<Record<string, OptionDefinition>>

/** An option without a value, such as `--json`. */
export function flag(help: string): { readonly type: 'boolean'; readonly help: string } {
  return { type: 'boolean', help }
}

/** An option with a value, such as `--out <file>`. */
export function option(
  value: string,
  help: string,
  choices: readonly string[] = [],
): OptionDefinition & { readonly type: 'string' } {
  return { type: 'string', value, help, choices }
}

/** The option that names the application in every command. */
export const moduleOption = option(
  '<file>',
  'the file of the application. Default: "filigree": { "module": … } in package.json',
)

/** Input and output of a command, so that tests can run it without a process. */
export interface Terminal {
  /** Writes to standard output. Resolves after the text is written. */
  readonly out: (text: string) => Promise<void>
  /**
   * Call it before a secret is written to standard output. If that is a file, only its owner may read it from then on.
   *
   * @throws {Error} the file belongs to another user
   */
  readonly protectOutput?: () => void
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
  /** Writes a text and reads a line. Undefined without an interactive terminal. */
  readonly prompt?: ((text: string) => Promise<string>) | undefined
  /** Writes the progress of long work to standard error. Undefined if standard error is not a terminal. */
  readonly progress?: ((text: string) => void) | undefined
}

/** Thrown for wrong arguments. The message and the usage are shown, and the exit code is 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

type Values<O extends OptionDefinitions> = {
  readonly [Name in keyof O]: O[Name]['type'] extends 'boolean' ? boolean : string | undefined
}

interface Arguments<O extends OptionDefinitions> {
  /** Missing booleans are false, missing strings are undefined. */
  readonly values: Values<O>
  /** Arguments that do not belong to an option. */
  readonly positionals: readonly string[]
}

interface CommandDefinition<O extends OptionDefinitions> extends Omit<Command, 'options' | 'run'> {
  readonly options: O
  /** Maximum number of arguments that do not belong to an option. Default: 1. */
  readonly maxPositionals?: number
  /** @returns false if the exit code is 1 @throws {UsageError} */
  readonly run: (args: Arguments<O>, terminal: Terminal) => Promise<boolean>
}

/** Makes a command whose `run` receives the arguments that its options describe. */
export function defineCommand<O extends OptionDefinitions>({
  maxPositionals = 1,
  run,
  ...command
}: CommandDefinition<O>): Command {
  return {
    ...command,
    run: async (args, terminal) =>
      run(readArguments(args, command.options, maxPositionals), terminal),
  }
}

/** @throws {UsageError} an unknown option, a missing or unexpected value, or too many positional arguments */
function readArguments<O extends OptionDefinitions>(
  args: readonly string[],
  options: O,
  maxPositionals: number,
): Arguments<O> {
  const values: Record<string, unknown> = {}
  const types: Record<string, { type: 'boolean' | 'string' }> = {}
  for (const [name, { type }] of Object.entries(options)) {
    types[name] = { type }
    values[name] = type === 'boolean' ? false : undefined
  }
  // Not strict, because the errors of `parseArgs` do not suggest names.
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options: types,
    allowPositionals: true,
    strict: false,
    tokens: true,
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
  const hint = didYouMean(option, options) || `Options: ${options.join(', ')}.`
  return new UsageError(`unknown option ${option}. ${hint}`)
}

/**
 * @returns the file of the application: the option `--module`, or the argument of the command
 * @throws {UsageError} there are both
 */
export function moduleFileOf({
  values: { module },
  positionals: [argument],
}: Arguments<{ readonly module: typeof moduleOption }>): string | undefined {
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
