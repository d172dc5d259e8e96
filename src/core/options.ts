/**
 * Options as declared values. One declaration gives the type of an options object, its names, checks and defaults, and,
 * with the comments of its options, its table in the documentation.
 */
import type { Problem } from '../errors/declaration-error.js'
import { rejectUnknownOptions } from '../errors/unknown-options.js'
import { readSeconds } from './time.js'

export interface OptionCheck<Input, Value = Input> {
  readonly isValid: (value: unknown) => boolean
  /** What to write instead of an invalid value: `Write true or false.` */
  readonly remedy: string
  /** Converts a valid value for the program. Default: it stays the same. */
  parse?(value: Input): Value
  /** Set by `shown()`. */
  readonly isShown?: boolean
}

/**
 * One option of an options object.
 *
 * @typeParam Input what an application writes
 * @typeParam Value what the program reads; contains `undefined` if the option may be left out and has no default
 */
export class Option<
  Input,
  Value = Input | undefined,
  Presence extends 'optional' | 'required' = 'optional',
> {
  declare readonly types: { readonly input: Input; readonly value: Value; readonly is: Presence }
  /** As an application would write it. For a required option, an example. */
  readonly defaultValue: Input | undefined
  readonly isRequired: boolean
  readonly #check: OptionCheck<Input, unknown>
  readonly #nested: DeclaredOptions | undefined

  /** @param nested the options of an object, if the value may be one */
  constructor(
    check: OptionCheck<Input, unknown>,
    nested?: DeclaredOptions,
    { defaultValue, isRequired = false }: { defaultValue?: Input; isRequired?: boolean } = {},
  ) {
    this.#check = check
    this.#nested = nested
    this.defaultValue = defaultValue
    this.isRequired = isRequired
  }

  /** Sets the value of an option that is left out, as an application would write it. */
  default(defaultValue: Input): Option<Input, Exclude<Value, undefined>> {
    return new Option(this.#check, this.#nested, { defaultValue })
  }

  /**
   * Leaving out the option is a problem.
   *
   * @param example replaces a missing or invalid value until all problems are found and the start fails
   */
  required(example: Input): Option<Input, Exclude<Value, undefined>, 'required'> {
    return new Option(this.#check, this.#nested, { defaultValue: example, isRequired: true })
  }

  /** Messages show invalid values. Without it they show only numbers and booleans, because values may contain passwords. */
  shown(): Option<Input, Value, Presence> {
    const { defaultValue, isRequired } = this
    return new Option({ ...this.#check, isShown: true }, this.#nested, { defaultValue, isRequired })
  }

  /** Also accepts an object with these options: `option.flag().or(cookieOptions)`. */
  or<Declared extends DeclaredOptions>(
    nested: Declared,
  ): Option<Input | OptionsOf<Declared>, Value | ValuesOf<Declared>> {
    return new Option(this.#check as OptionCheck<Input | OptionsOf<Declared>, unknown>, nested)
  }

  /** @returns the value for the program, with the default or example in place of an invalid value */
  read(value: unknown): Value {
    if (this.#nested !== undefined && isObject(value)) return this.#nested.read(value) as Value
    const isUsable = value !== undefined && this.#check.isValid(value)
    const input = isUsable ? (value as Input) : this.defaultValue
    return (
      input === undefined || this.#check.parse === undefined ? input : this.#check.parse(input)
    ) as Value
  }

  /** @param where what the options belong to; without it, messages are not sentences */
  findProblems(name: string, value: unknown, where?: string): Problem[] {
    if (value === undefined && !this.isRequired) return []
    if (this.#nested !== undefined && isObject(value))
      return this.#nested.findProblems(value, placeOf(name, where))
    const { isValid, remedy, isShown } = this.#check
    if (value !== undefined && isValid(value)) return []
    const problem = isShown === true ? `is ${toText(value)}` : `cannot be ${toHarmlessText(value)}`
    const sentence = `${name} ${problem}`
    const message = where === undefined ? sentence : `${where}: ${sentence}.`
    return [{ code: 'INVALID_OPTION', message, remedy }]
  }
}

/** `bootstrap auth` for options of `bootstrap`, `bootstrap auth.rotation` for options of these. */
function placeOf(name: string, where: string | undefined): string {
  if (where === undefined) return name
  return `${where}${where.includes(' ') ? '.' : ' '}${name}`
}

function toHarmlessText(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'used'
}

function toText(value: unknown): string {
  if (typeof value === 'string' || (typeof value === 'object' && value !== null))
    return JSON.stringify(value)
  return typeof value === 'function' ? 'a function' : String(value)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type AnyOption = Option<unknown, unknown, 'optional' | 'required'>
type OptionsByName = Readonly<Record<string, AnyOption>>

/** An options object, as `declareOptions` declares it. */
export interface DeclaredOptions<All extends OptionsByName = OptionsByName> {
  readonly all: All
  readonly names: readonly string[]
  /**
   * Returns a problem for every unknown, invalid and missing option, for the `problems` of a module and the `check` of a
   * custom decorator: `audit: unknown option "kep".` with `Did you mean "keep"? Options: keep.`
   *
   * @param where what the options belong to; a decorator's `check` omits it, because its problems name the decorator
   */
  findProblems(options: unknown, where?: string): Problem[]
  /**
   * Returns the values for the program: converted, with the defaults of options that are left out or invalid.
   */
  read(options: unknown): ValuesOf<DeclaredOptions<All>>
}

/**
 * The type of an options object: `interface AuditOptions extends OptionsOf<typeof auditOptions> {}`. Options keep the
 * comments of their declaration.
 */
export type OptionsOf<Declared extends DeclaredOptions> = InputOf<Declared['all']>

type InputOf<All extends OptionsByName> = {
  [
    Name in keyof All as All[Name]['types']['is'] extends 'required' ? Name : never
  ]: All[Name]['types']['input']
} & {
  [
    Name in keyof All as All[Name]['types']['is'] extends 'required' ? never : Name
  ]?: All[Name]['types']['input']
}

/** The values that `read` returns. */
export type ValuesOf<Declared extends DeclaredOptions> = {
  readonly [Name in keyof Declared['all']]: Declared['all'][Name]['types']['value']
}

/**
 * Declares the options of a module, a decorator or a function, by name:
 *
 * ```ts
 * const auditOptions = declareOptions({
 *   /** How long entries are stored. Default `'90d'`. *\/
 *   keep: option.seconds().default('90d'),
 * })
 * export interface AuditOptions extends OptionsOf<typeof auditOptions> {}
 * ```
 */
export function declareOptions<All extends OptionsByName>(all: All): DeclaredOptions<All> {
  const names = Object.keys(all)
  return {
    all,
    names,
    findProblems(options, where) {
      const values: Readonly<Record<string, unknown>> = isObject(options) ? { ...options } : {}
      return [
        ...rejectUnknownOptions(options, names, where),
        ...names.flatMap((name) => all[name]?.findProblems(name, values[name], where) ?? []),
      ]
    },
    read(options) {
      const values: Readonly<Record<string, unknown>> = isObject(options) ? { ...options } : {}
      const entries = Object.entries(all).map(([name, one]) => [name, one.read(values[name])])
      return Object.freeze(Object.fromEntries(entries)) as ValuesOf<DeclaredOptions<All>>
    },
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** The kinds of options. A remedy tells what to write instead of an invalid value. */
export const option = {
  /** True or false. */
  flag: (): Option<boolean> =>
    new Option({ isValid: (value) => typeof value === 'boolean', remedy: 'Write true or false.' }),

  /** A text that is not empty. */
  text: (remedy = 'Write a text that is not empty.', pattern = /^/): Option<string> =>
    new Option({ isValid: (value) => isText(value) && pattern.test(value), remedy }),

  integer: (
    min: number,
    max = Number.MAX_SAFE_INTEGER,
    remedy = `Give an integer from ${min} to ${max}.`,
  ): Option<number> =>
    new Option({
      isValid: (value) =>
        Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max,
      remedy,
    }),

  /** From 0 up to the longest time of a timer, 24 days. */
  milliseconds: (remedy = 'Write milliseconds.'): Option<number> =>
    new Option({
      isValid: (value) => typeof value === 'number' && value >= 0 && value < 2 ** 31,
      remedy,
    }),

  /** Seconds, or text with a unit: `'10s'`, `'15m'`. The program gets seconds, at least 1. */
  seconds: (remedy = "Write '10s' or seconds."): Option<number | string, number | undefined> =>
    new Option<number | string, number | undefined>({
      isValid: (value) => readSeconds(value) !== undefined,
      remedy,
      parse: readSeconds,
    }),

  /** One of several values. */
  oneOf: <const Values extends readonly (string | number | boolean)[]>(
    ...values: Values
  ): Option<Values[number]> =>
    new Option({
      isValid: (value) => values.includes(value as Values[number]),
      remedy: `Write ${listOf(values.map(toCode))}.`,
    }),

  /** A list of values that the option of an item accepts. */
  list: <Item>(item: Option<Item>, remedy: string): Option<readonly Item[]> =>
    new Option({
      isValid: (value) =>
        Array.isArray(value) && value.every((one) => item.findProblems('', one).length === 0),
      remedy,
    }),

  /** An object with options of its own. */
  object: <Declared extends DeclaredOptions>(
    declared: Declared,
    remedy: string,
  ): Option<OptionsOf<Declared>, ValuesOf<Declared> | undefined> =>
    new Option<never>({ isValid: () => false, remedy }).or(declared),

  /** Any other value. */
  of: <Input, Value = Input>(check: OptionCheck<Input, Value>): Option<Input, Value | undefined> =>
    new Option(check),
}

/** `'a', 'b' or 'c'`. */
function listOf(texts: readonly string[]): string {
  const last = texts.at(-1) ?? ''
  return texts.length < 2 ? last : `${texts.slice(0, -1).join(', ')} or ${last}`
}

function toCode(value: string | number | boolean): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}
