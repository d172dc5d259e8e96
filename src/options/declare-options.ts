/**
 * Options as declared values. One declaration gives the type of an options object, its names, checks and defaults, and,
 * with the comments of its options, its table in the documentation.
 */
import type { Problem } from '../errors/declaration-error.js'
import { findUnknownOptions } from '../errors/unknown-options.js'

interface OptionCheck {
  /** @returns the value for the program; undefined if it is invalid */
  readonly parse: (value: unknown) => unknown
  /** What to write instead of an invalid value: `Write true or false.` */
  readonly remedy: string | ((value: unknown) => string)
  readonly isShown?: boolean
  readonly isUnlisted?: boolean
  /** Whether a value has the nested options. Default: whether it is an object. */
  readonly isNested?: ((value: object) => boolean) | undefined
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
  readonly #check: OptionCheck
  readonly #nested: DeclaredOptions | undefined

  /** @param nested the options of an object, if the value may be one */
  constructor(
    check: OptionCheck,
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
   * @param example replaces a missing or invalid value until all problems are found and the start fails. A program that
   * reads no values then needs none
   */
  required(example?: Input): Option<Input, Exclude<Value, undefined>, 'required'> {
    return new Option(this.#check, this.#nested, { defaultValue: example, isRequired: true })
  }

  /** Messages show invalid values. Without it they show only numbers and booleans, because values may contain passwords. */
  shown(): Option<Input, Value, Presence> {
    return this.#with({ isShown: true })
  }

  /** Messages do not suggest the option, because only the framework sets it. */
  unlisted(): Option<Input, Value, Presence> {
    return this.#with({ isUnlisted: true })
  }

  #with(change: Partial<OptionCheck>): Option<Input, Value, Presence> {
    const { defaultValue, isRequired } = this
    return new Option({ ...this.#check, ...change }, this.#nested, { defaultValue, isRequired })
  }

  /** Whether messages suggest the option. */
  get isListed(): boolean {
    return this.#check.isUnlisted !== true
  }

  /**
   * Also accepts an object with these options: `option.flag().or(cookieOptions)`.
   *
   * @param isNested whether an object has these options. Default: every object
   */
  or<Declared extends DeclaredOptions>(
    nested: Declared,
    isNested?: (value: object) => boolean,
  ): Option<Input | OptionsOf<Declared>, Value | ValuesOf<Declared>> {
    return new Option({ ...this.#check, isNested }, nested)
  }

  /** @returns the value for the program, with the default or example in place of an invalid value */
  read(value: unknown): Value {
    const parsed = this.#parse(value)
    return (parsed === undefined ? this.#parse(this.defaultValue) : parsed) as Value
  }

  /** @returns undefined for an invalid value */
  #parse(value: unknown): unknown {
    if (value === undefined) return undefined
    const nested = this.#nestedOptions(value)
    return nested === undefined ? this.#check.parse(value) : nested.read(value)
  }

  #nestedOptions(value: unknown): DeclaredOptions | undefined {
    const { isNested } = this.#check
    return isObject(value) && isNested?.(value) !== false ? this.#nested : undefined
  }

  /** @returns false if `findProblems` may find one */
  accepts(value: unknown): boolean {
    if (value === undefined) return !this.isRequired
    return this.#nested === undefined && this.#check.parse(value) !== undefined
  }

  /** @param where what the options belong to; without it, messages are not sentences */
  findProblems(name: string, value: unknown, where?: string): Problem[] {
    if (value === undefined && !this.isRequired) return []
    const nested = this.#nestedOptions(value)
    if (nested !== undefined) return nested.findProblems(value, placeOf(name, where))
    const { remedy, isShown } = this.#check
    if (this.#parse(value) !== undefined) return []
    const problem = isShown === true ? `is ${toText(value)}` : `cannot be ${toHarmlessText(value)}`
    const sentence = `${name} ${problem}`
    const message = where === undefined ? sentence : `${where}: ${sentence}.`
    const instruction = typeof remedy === 'string' ? remedy : remedy(value)
    return [{ code: 'INVALID_OPTION', message, remedy: instruction }]
  }
}

/**
 * `bootstrap auth` for options of `bootstrap`, `bootstrap auth.rotation` for options of these, `@Record of Item, writes`
 * for options of a decorator.
 */
function placeOf(name: string, where: string | undefined): string {
  if (where === undefined) return name
  if (where.startsWith('@') && !where.includes(',')) return `${where}, ${name}`
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
  /**
   * Returns a problem for every unknown, invalid and missing option, for the `problems` of a module and the `check` of a
   * custom decorator: `audit: unknown option "kep".` with `Did you mean "keep"? Options: keep.`
   *
   * @param where what the options belong to; a decorator's `check` omits it, because its problems name the decorator
   */
  findProblems(options: unknown, where?: string): Problem[]
  /**
   * For the options of a call. Valid options cost one look-up for each name.
   *
   * @param where what the options belong to: `jobs.list`
   * @throws {TypeError} an option is unknown, invalid or missing
   */
  check(where: string, options: unknown): void
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
  const byName: ReadonlyMap<string, AnyOption> = new Map(Object.entries(all))
  const listedNames = [...byName].flatMap(([name, { isListed }]) => (isListed ? [name] : []))
  const required = [...byName].flatMap(([name, { isRequired }]) => (isRequired ? [name] : []))
  const accepts = (options: unknown): boolean => {
    if (typeof options !== 'object' || options === null)
      return options === undefined && required.length === 0
    const values = options as Readonly<Record<string, unknown>>
    for (const name of Object.keys(values))
      if (byName.get(name)?.accepts(values[name]) !== true) return false
    for (const name of required) if (values[name] === undefined) return false
    return true
  }
  return {
    all,
    findProblems(options, where) {
      const values: Readonly<Record<string, unknown>> = isObject(options) ? { ...options } : {}
      return [
        ...findUnknownOptions(options, { names: byName, listedNames, where }),
        ...[...byName].flatMap(([name, one]) => one.findProblems(name, values[name], where)),
      ]
    },
    check(where, options) {
      if (accepts(options)) return
      const [problem] = this.findProblems(options, where)
      if (problem !== undefined) throw new TypeError(`${problem.message} ${problem.remedy}`)
    },
    read(options) {
      const values: Readonly<Record<string, unknown>> = isObject(options) ? { ...options } : {}
      const entries = [...byName].map(([name, one]) => [name, one.read(values[name])] as const)
      return Object.freeze(Object.fromEntries(entries)) as ValuesOf<DeclaredOptions<All>>
    },
  }
}
