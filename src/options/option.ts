/** The kinds of options that `declareOptions` declares. */
import { readSeconds } from '../core/time.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { Option, type DeclaredOptions, type OptionsOf, type ValuesOf } from './declare-options.js'

/** A sentence, or a function that returns the sentence for an invalid value. */
type Remedy = string | ((value: unknown) => string)

/** The kinds of options. A remedy says what to write instead of an invalid value. */
export const option = {
  /** True or false. */
  flag: (): Option<boolean> => option.of(isBoolean, 'Write true or false.'),

  /** A text that is not empty. */
  text: (remedy = 'Write a text that is not empty.', pattern = /^/): Option<string> =>
    option.of((value) => isText(value) && pattern.test(value), remedy),

  integer: (
    min: number,
    max = Number.MAX_SAFE_INTEGER,
    remedy = `Give an integer from ${min} to ${max}.`,
  ): Option<number> =>
    option.of((value) => Number.isSafeInteger(value) && isBetween(value, min, max), remedy),

  /** From 0 up to the longest time of a timer, 24 days. */
  milliseconds: (remedy = 'Write milliseconds.'): Option<number> =>
    option.of((value) => isBetween(value, 0, 2 ** 31 - 1), remedy),

  /**
   * Seconds, or text with a unit: `'10s'`, `'15m'`. The program gets seconds.
   *
   * @param min 0 also allows `0` and `'0s'`
   */
  seconds: (
    remedy = "Write '10s' or seconds.",
    min: 0 | 1 = 1,
  ): Option<number | string, number | undefined> =>
    option.parsed<number | string, number>(
      (value) => (min === 0 && (value === 0 || value === '0s') ? 0 : readSeconds(value)),
      remedy,
    ),

  /** One of several values. */
  oneOf: <const Values extends readonly (string | number | boolean)[]>(
    ...values: Values
  ): Option<Values[number]> =>
    option.of(
      (value) => values.includes(value as Values[number]),
      (value) => `${suggestionFor(value, values)}Write ${listOf(values.map(toCode))}.`,
    ),

  /** A list of values that the option of an item accepts. */
  list: <Item>(item: Option<Item>, remedy: string): Option<readonly Item[]> =>
    option.of(
      (value) =>
        Array.isArray(value) && value.every((one) => item.findProblems('', one).length === 0),
      remedy,
    ),

  /** An object with options of its own. */
  object: <Declared extends DeclaredOptions>(
    declared: Declared,
    remedy: string,
  ): Option<OptionsOf<Declared>, ValuesOf<Declared> | undefined> =>
    new Option<never>({ parse: () => undefined, remedy }).or(declared),

  /** A value that is checked elsewhere. */
  any: <Input>(): Option<Input> => option.parsed((value) => value as Input, ''),

  /** Any other value. */
  of: <Input>(isValid: (value: unknown) => boolean, remedy: Remedy): Option<Input> =>
    option.parsed((value) => (isValid(value) ? (value as Input) : undefined), remedy),

  /**
   * A value that the program gets in another form.
   *
   * @param parse returns undefined for an invalid value
   */
  parsed: <Input, Value>(
    parse: (value: unknown) => Value | undefined,
    remedy: Remedy,
  ): Option<Input, Value | undefined> => new Option({ parse, remedy }),
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean'
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isBetween(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max
}

/** `Did you mean "b"? `, or an empty text. */
function suggestionFor(value: unknown, values: readonly unknown[]): string {
  const texts = values.filter((one) => typeof one === 'string')
  const hint = typeof value === 'string' ? didYouMean(value, texts) : ''
  return hint === '' ? '' : `${hint} `
}

/** `'a', 'b' or 'c'`. */
function listOf(texts: readonly string[]): string {
  const last = texts.at(-1) ?? ''
  return texts.length < 2 ? last : `${texts.slice(0, -1).join(', ')} or ${last}`
}

function toCode(value: string | number | boolean): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}
