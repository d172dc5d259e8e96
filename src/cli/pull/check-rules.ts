/**
 * Reads check constraints as rules of fields, where both mean the same: `price >= 0` is `min: '0'`. All other checks stay with
 * the database alone.
 */
import type { CatalogueColumn, CatalogueTable } from '../../engines/contract/described-table.js'
import type { Digits } from '../../fields/kinds/kind.js'
import { isOfKind, kindOf, type KindName } from '../../fields/kinds/table.js'
import { patternCost } from '../../fields/pattern-cost.js'
import { limitsLength } from '../../fields/pattern-length.js'
import { parseCheck, withoutCasts, type CheckExpression } from './check-expressions.js'

/** What a value must fulfil, unless it is null. */
export type Condition =
  | { readonly is: 'min' | 'max'; readonly bound: string; readonly isOpen: boolean }
  | { readonly is: 'minLength' | 'maxLength'; readonly length: number }
  | { readonly is: 'oneOf'; readonly values: readonly string[] }
  | { readonly is: 'pattern'; readonly source: string }

/** The rules of a field, with values of its kind. */
export interface CheckRules {
  readonly min?: number | string
  readonly max?: number | string
  readonly minLength?: number
  readonly maxLength?: number
  readonly oneOf?: readonly (string | number)[]
  readonly pattern?: string
}

/** A condition, and the column that it is about. */
interface FoundRule {
  readonly column: string
  readonly condition: Condition
}

/** @returns the conditions of the checks of a table, by column */
export function readChecks({
  columns,
  checks,
}: CatalogueTable): ReadonlyMap<string, readonly Condition[]> {
  const byColumn = new Map<string, Condition[]>()
  const add = (name: string, condition: Condition): void => {
    byColumn.set(name, [...(byColumn.get(name) ?? []), condition])
  }
  const reader = new ConditionReader(columns)
  for (const check of checks)
    for (const { column, condition } of reader.read(check)) add(column, condition)
  for (const column of columns) {
    const ofValue = new ConditionReader([{ ...column, name: 'value' }])
    for (const check of column.checks)
      for (const { condition } of ofValue.read(check)) add(column.name, condition)
  }
  return byColumn
}

class ConditionReader {
  readonly #columns: readonly CatalogueColumn[]

  constructor(columns: readonly CatalogueColumn[]) {
    this.#columns = columns
  }

  read(sql: string): readonly FoundRule[] {
    const expression = parseCheck(sql)
    return expression === undefined ? [] : this.#findings(expression)
  }

  #findings(expression: CheckExpression): readonly FoundRule[] {
    switch (expression.is) {
      case 'and':
        return expression.items.flatMap((item) => this.#findings(item))
      case 'or':
        return this.#ofAlternatives(expression.items)
      case 'compare':
        return this.#comparison(expression)
      case 'in':
        return this.#oneOf(expression.of, expression.items)
      default:
        return []
    }
  }

  /** `a is null or a > 0`, `a = 1 or a = 2` */
  #ofAlternatives(items: readonly CheckExpression[]): readonly FoundRule[] {
    const nulls = items.flatMap((item) => (item.is === 'null' ? [this.#columnOf(item.of)] : []))
    const others = items.filter(({ is }) => is !== 'null')
    const [first, ...rest] = others.map((item) => this.#findings(item))
    if (first === undefined) return []
    const about = nulls[0] ?? first[0]?.column
    if (about === undefined || nulls.some((one) => one !== about)) return []
    if (rest.length === 0) return first.filter(({ column }) => column === about)
    const lists = [first, ...rest].map((findings) => {
      const [one, another] = findings
      const isList = another === undefined && one?.column === about && one.condition.is === 'oneOf'
      return isList ? (one.condition as { values: readonly string[] }).values : undefined
    })
    return lists.includes(undefined)
      ? []
      : [{ column: about, condition: { is: 'oneOf', values: lists.flatMap((list) => list ?? []) } }]
  }

  #comparison({
    operator,
    left,
    right,
  }: CheckExpression & { is: 'compare' }): readonly FoundRule[] {
    const literal = this.#literalOf(right)
    if (literal !== undefined) return this.#compare(left, operator, literal)
    const mirrored = this.#literalOf(left)
    const other = mirrors[operator]
    return mirrored === undefined || other === undefined
      ? []
      : this.#compare(right, other, mirrored)
  }

  #compare(operand: CheckExpression, operator: string, literal: string): readonly FoundRule[] {
    const measured = this.#measuredColumn(operand)
    if (measured !== undefined) {
      const length = toLength(operator, literal)
      return length === undefined ? [] : [{ column: measured, condition: length }]
    }
    const column = this.#columnOf(operand)
    if (column === undefined) return []
    const condition = toCondition(operator, literal)
    return condition === undefined ? [] : [{ column, condition }]
  }

  #oneOf(of: CheckExpression, items: readonly CheckExpression[]): readonly FoundRule[] {
    const column = this.#columnOf(of)
    const values = items.map((item) => this.#literalOf(item))
    return column === undefined || values.includes(undefined)
      ? []
      : [{ column, condition: { is: 'oneOf', values: values.flatMap((value) => value ?? []) } }]
  }

  /** `char_length(name)` */
  #measuredColumn(expression: CheckExpression): string | undefined {
    if (expression.is !== 'call' || !lengthFunctions.has(expression.name)) return undefined
    const [operand, another] = expression.items
    if (operand === undefined || another !== undefined) return undefined
    const column = this.#columnOf(operand)
    const { kind } = this.#columns.find(({ name }) => name === column)?.form ?? {}
    const isBytes = kind === 'blob'
    return isBytes === (expression.name === 'octet_length') || expression.name === 'length'
      ? column
      : undefined
  }

  /** A cast that changes values makes another condition. */
  #columnOf(expression: CheckExpression): string | undefined {
    if (expression.is === 'cast') {
      const column = this.#columnOf(expression.of)
      const { kind } = this.#columns.find(({ name }) => name === column)?.form ?? {}
      return kind !== undefined && harmlessCasts[kind]?.includes(expression.type) === true
        ? column
        : undefined
    }
    return expression.is === 'name' ? this.#find(expression)?.name : undefined
  }

  #find({ name, isQuoted }: { readonly name: string; readonly isQuoted: boolean }) {
    const exact = this.#columns.find((one) => one.name === name)
    if (exact !== undefined) return exact
    const similar = this.#columns.filter((one) => one.name.toLowerCase() === name.toLowerCase())
    return isQuoted || similar.length === 1 ? similar[0] : undefined
  }

  #literalOf(expression: CheckExpression): string | undefined {
    const bare = withoutCasts(expression)
    if (bare.is === 'literal') return bare.text
    // SQLite takes a name in double quotes for a text if there is no such column.
    return bare.is === 'name' && bare.isQuoted && this.#find(bare) === undefined
      ? bare.name
      : undefined
  }
}

const lengthFunctions: ReadonlySet<string> = new Set([
  ...['length', 'char_length', 'character_length', 'octet_length'],
])

const mirrors: Readonly<Record<string, string>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

const texts = ['text', 'character varying']
const numbers = ['bigint', 'numeric', 'double precision']
/** Casts of columns that keep every value, by kind. */
const harmlessCasts: Readonly<Partial<Record<KindName, readonly string[]>>> = {
  string: texts,
  integer: [...numbers, 'integer'],
  bigint: numbers,
  numeric: ['numeric', 'double precision'],
  decimal: ['numeric'],
}

function toLength(operator: string, literal: string): Condition | undefined {
  if (!/^\d+$/.test(literal)) return undefined
  const length = Number(literal)
  switch (operator) {
    case '<=':
      return { is: 'maxLength', length }
    case '<':
      return length > 0 ? { is: 'maxLength', length: length - 1 } : undefined
    case '>=':
      return { is: 'minLength', length }
    case '>':
      return { is: 'minLength', length: length + 1 }
    case '<>':
      return length === 0 ? { is: 'minLength', length: 1 } : undefined
    default:
      return undefined
  }
}

function toCondition(operator: string, literal: string): Condition | undefined {
  switch (operator) {
    case '=':
      return { is: 'oneOf', values: [literal] }
    case '~':
      return { is: 'pattern', source: literal }
    case '<>':
      return literal === '' ? { is: 'minLength', length: 1 } : undefined
    case '>':
    case '>=':
      return { is: 'min', bound: literal, isOpen: operator === '>' }
    default:
      return { is: 'max', bound: literal, isOpen: operator === '<' }
  }
}

/** @param kind of the field @returns the rules without those that contradict each other */
export function toRules(
  conditions: readonly Condition[],
  { form, isComputed, isCounted }: CatalogueColumn,
  kind: KindName,
): CheckRules {
  if (form.isList === true || form.equality === 'of its type' || isComputed || isCounted) return {}
  const rules: { -readonly [Rule in keyof CheckRules]: CheckRules[Rule] } = {}
  for (const condition of conditions) {
    switch (condition.is) {
      case 'min':
      case 'max': {
        const bound = toBound(condition, kind, form.digits)
        if (bound !== undefined)
          rules[condition.is] = stricter(condition.is, rules[condition.is], bound)
        break
      }
      case 'minLength':
        if (measured.has(kind) && form.equality !== 'padded')
          rules.minLength = Math.max(rules.minLength ?? 0, condition.length)
        break
      case 'maxLength':
        if (measured.has(kind) && form.equality !== 'padded')
          rules.maxLength = Math.min(rules.maxLength ?? Infinity, condition.length)
        break
      case 'oneOf': {
        const values = toValues(condition.values, kind, form)
        if (values !== undefined)
          rules.oneOf = rules.oneOf?.filter((value) => values.includes(value)) ?? values
        break
      }
      case 'pattern':
        if (kind === 'string' && form.equality === undefined) rules.pattern ??= condition.source
    }
  }
  if (!isUsablePattern(rules.pattern, rules.maxLength ?? form.maxLength)) delete rules.pattern
  return contradicts(rules) ? {} : withoutRedundant(rules)
}

const measured: ReadonlySet<KindName> = new Set(['string', 'text', 'blob'])

function contradicts({
  min,
  max,
  minLength = 0,
  maxLength = Infinity,
  oneOf,
}: CheckRules): boolean {
  const isEmpty = oneOf !== undefined && oneOf.length === 0
  const isCrossed = min !== undefined && max !== undefined && order(min, max) > 0
  return isEmpty || isCrossed || minLength > maxLength
}

/** A list of values needs no bounds. */
function withoutRedundant({ oneOf, ...rules }: CheckRules): CheckRules {
  return oneOf === undefined ? rules : { oneOf }
}

function stricter<T extends number | string>(is: 'min' | 'max', one: T | undefined, other: T): T {
  if (one === undefined) return other
  const sign = order(one, other)
  return (is === 'min' ? sign > 0 : sign < 0) ? one : other
}

/** Negative if the first value is smaller. Values of one field: numbers, days, or decimal numbers as texts. */
function order(one: number | string, other: number | string): number {
  if (typeof one === 'number' || typeof other === 'number') return Number(one) - Number(other)
  if (isDay.test(one) || !isDecimal.test(one) || !isDecimal.test(other)) return one < other ? -1 : 1
  const difference = scaled(one, maxScale) - scaled(other, maxScale)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

const isDay = /^\d{4}-\d\d-\d\d$/
const isDecimal = /^-?(?:\d+\.?\d*|\.\d+)$/
/** More digits than the kind `decimal` has. */
const maxScale = 40

/** `1.5` with scale 2 → 150n. Further digits are cut. */
function scaled(text: string, scale: number): bigint {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d*)\.?(\d*)$/.exec(text) ?? []
  const units = BigInt(`${whole}${fraction.padEnd(scale, '0').slice(0, scale)}`)
  return sign === '-' ? -units : units
}

/** A bound of the kind's values that includes itself: `> 5` is 6 for integers. */
function toBound(
  { is, bound, isOpen }: Condition & { is: 'min' | 'max' },
  kind: KindName,
  digits: Digits | undefined,
): number | string | undefined {
  if (kind === 'date') return isOpen || !isOfKind(bound, kindOf('date', {})) ? undefined : bound
  if (!isDecimal.test(bound)) return undefined
  if (kind === 'numeric') return isOpen ? undefined : Number(bound)
  const scale = kind === 'decimal' ? (digits?.scale ?? 0) : 0
  if (kind !== 'integer' && kind !== 'bigint' && kind !== 'decimal') return undefined
  const steps = nextStep(bound, { is, isOpen }, scale)
  const text = fromSteps(steps, scale)
  if (kind === 'integer') return Number.isSafeInteger(Number(text)) ? Number(text) : undefined
  return isOfKind(text, kindOf(kind, { ...digits })) ? text : undefined
}

/** The nearest number of the scale within the bound, in units of its last digit. */
function nextStep(
  bound: string,
  { is, isOpen }: { readonly is: 'min' | 'max'; readonly isOpen: boolean },
  scale: number,
): bigint {
  const cut = scaled(bound, scale)
  const [exact, rounded] = [scaled(bound, maxScale), cut * 10n ** BigInt(maxScale - scale)]
  const isBeside = is === 'min' ? rounded < exact : rounded > exact
  const isExcluded = isOpen && rounded === exact
  if (!isBeside && !isExcluded) return cut
  return is === 'min' ? cut + 1n : cut - 1n
}

function fromSteps(steps: bigint, scale: number): string {
  const digits = String(steps < 0n ? -steps : steps).padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const fraction = scale === 0 ? '' : `.${digits.slice(-scale)}`.replace(/\.?0+$/, '')
  return `${steps < 0n ? '-' : ''}${whole}${fraction}`
}

function toValues(
  values: readonly string[],
  kind: KindName,
  { equality, maxLength, values: words }: CatalogueColumn['form'],
): readonly (string | number)[] | undefined {
  const unique = [...new Set(values)]
  if (kind === 'enum') return words?.filter((word) => unique.includes(word))
  if (kind === 'integer' || kind === 'numeric') {
    const numbersOnly = unique.every((value) => /^-?\d+(?:\.\d+)?$/.test(value))
    return numbersOnly ? unique.map(Number) : undefined
  }
  const isPlain = equality === undefined || unique.every(({ length }) => length === maxLength)
  return kind === 'string' && isPlain && equality !== 'without case' ? unique : undefined
}

/**
 * Whether both databases and JavaScript read a regular expression in the same way, and whether it is fast. Classes such as
 * `\w` depend on the locale of PostgreSQL, and `.` also matches a new line there. Source: PostgreSQL, POSIX Regular
 * Expressions.
 *
 * @param maxLength of the texts
 */
function isUsablePattern(source: string | undefined, maxLength: number | undefined): boolean {
  if (source === undefined || !sameSyntax.test(source)) return false
  try {
    const pattern = new RegExp(source)
    return patternCost(pattern) === 'linear' && (maxLength !== undefined || limitsLength(pattern))
  } catch {
    return false
  }
}

/** A negated set needs a quantifier, because characters beyond 16 bits count twice in JavaScript. */
const sameSyntax =
  /^(?:[A-Za-z0-9 _@/:,#%&;=<>!"'~`-]|\\[.$^*+?()[\]{}|/-]|[()|^$]|\(\?:|\[(?:[A-Za-z0-9 _@/:,#%&;=<>!"'~`.+*?$()|-]|\\[.\-/])+\]|\[\^(?:[A-Za-z0-9 _@/:,#%&;=<>!"'~`.+*?$()|-])+\][+*]|(?<=[^+*?({|^])(?:[+*?]|\{\d+(?:,\d*)?\})(?![+*?{]))+$/

/** @param code the option `default` as code @returns whether the default fulfils the rules */
export function acceptsDefault(
  { min, max, minLength = 0, maxLength = Infinity, oneOf, pattern }: CheckRules,
  code: string,
): boolean {
  const value = readLiteral(code)
  if (value === undefined) return true
  if (oneOf?.includes(value) === false) return false
  if (typeof value === 'string') {
    const { length } = Array.from(value)
    if (length < minLength || length > maxLength) return false
    if (pattern !== undefined && !new RegExp(pattern).test(value)) return false
  }
  const isAbove = max !== undefined && order(value, max) > 0
  return !isAbove && (min === undefined || order(value, min) >= 0)
}

/** `'new'` → `new`, `5` → 5. `undefined` for other code. */
function readLiteral(code: string): string | number | undefined {
  if (/^-?\d+(?:\.\d+)?$/.test(code)) return Number(code)
  const [, text] = /^'((?:[^'\\])*)'$/.exec(code) ?? []
  return text === 'now' ? undefined : text
}
