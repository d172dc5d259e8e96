/**
 * class-validator's rules of plain meaning as code over a value `v`. A rule is written as code only where its constraint
 * speaks the built-in's message and agrees with the code on a row of probes, so that a rule of the same name made by an
 * application, or a later version's other meaning, is asked instead. Source: class-validator 0.15, src/decorator.
 */
import type { CheckSource } from './check-source.js'
import { argumentsOf, type ConstraintRule } from './constraint-rule.js'

/**
 * @returns an expression that is true for values that keep the rule, or `undefined` where the constraint must be asked
 */
export function writeConstraint(rule: ConstraintRule, source: CheckSource): string | undefined {
  const { constraint, note } = rule
  if (constraint === undefined || note.validateIf !== undefined) return undefined
  const builtIn = builtIns[rule.code]
  if (builtIn === undefined || !speaksLike(rule, builtIn.message)) return undefined
  const code = builtIn.code(note.constraints ?? [], source)
  if (code === 'ask') return askDirectly(rule, source)
  return code !== undefined && agrees(rule, code, source) ? code : undefined
}

interface BuiltIn {
  /** Its default message, without the prefix that `each` puts before it. */
  readonly message: string
  /** `ask`: its own function is called in place; it is pure and synchronous. */
  readonly code: (args: readonly unknown[], source: CheckSource) => string | undefined
}

function speaksLike(rule: ConstraintRule, message: string): boolean {
  const expected = (rule.note.each === true ? 'each value in ' : '') + message
  const args = argumentsOf(rule, undefined, {})
  try {
    return rule.constraint?.instance.defaultMessage?.(args) === expected
  } catch {
    return false
  }
}

function askDirectly(rule: ConstraintRule, source: CheckSource): string | undefined {
  const { instance } = rule.constraint ?? {}
  if (instance === undefined) return undefined
  return `${source.constant(instance)}.validate(v, ${source.constant(argumentsOf(rule, undefined, undefined))})`
}

function agrees(rule: ConstraintRule, code: string, source: CheckSource): boolean {
  const test = source.tryOut(code)
  const args = argumentsOf(rule, undefined, {})
  return [...probes, ...probesNear(rule.note.constraints ?? [])].every((value) => {
    try {
      return Boolean(rule.constraint?.instance.validate(value, args)) === Boolean(test(value))
    } catch {
      // Where the built-in throws (IsNumber's decimal places of 1e-7) there is nothing to agree on.
      return true
    }
  })
}

const probes: readonly unknown[] = [
  undefined,
  null,
  true,
  false,
  '',
  'a',
  'abc',
  '5',
  '😀',
  '❤️',
  'abcdefghij'.repeat(30),
  0,
  -0,
  1,
  -1,
  1.5,
  0.001,
  1e21,
  NaN,
  Infinity,
  -Infinity,
  [],
  [1],
  ['a', 'b', 'c'],
  {},
  { a: 1 },
  new Date(0),
  () => 0,
]

function probesNear(args: readonly unknown[]): unknown[] {
  return args.flat(1).flatMap((arg) => {
    if (typeof arg !== 'number' || !Number.isFinite(arg)) return [arg]
    const size = Math.min(Math.max(0, Math.floor(arg)), 10_000)
    const lengths = [Math.max(0, size - 1), size, size + 1]
    return [
      arg,
      arg - 1,
      arg + 1,
      arg + 0.1,
      ...lengths.flatMap((length) => [
        'x'.repeat(length),
        '😀'.repeat(length),
        new Array(length).fill(0),
      ]),
    ]
  })
}

const plain = (message: string, code: string): BuiltIn => ({
  message: `$property ${message}`,
  code: () => code,
})
const asked = (message: string): BuiltIn => plain(message, 'ask')

/** The code for rules with bounds, which must be numbers to be written as such. */
const bound = (
  message: string,
  write: (limit: number, source: CheckSource) => string,
): BuiltIn => ({
  message: `$property ${message}`,
  code: ([limit], source) => (isFiniteNumber(limit) ? write(limit, source) : undefined),
})

const builtIns: Readonly<Record<string, BuiltIn | undefined>> = {
  isDefined: plain('should not be null or undefined', 'v !== undefined && v !== null'),
  isString: plain('must be a string', "typeof v === 'string' || v instanceof String"),
  isInt: plain('must be an integer number', 'Number.isInteger(v)'),
  isBoolean: plain('must be a boolean value', "typeof v === 'boolean' || v instanceof Boolean"),
  isArray: plain('must be an array', 'Array.isArray(v)'),
  isObject: plain(
    'must be an object',
    "v != null && (typeof v === 'object' || typeof v === 'function') && !Array.isArray(v)",
  ),
  isNotEmpty: plain('should not be empty', "v !== '' && v !== null && v !== undefined"),
  isEmpty: plain('must be empty', "v === '' || v === null || v === undefined"),
  isPositive: plain('must be a positive number', "typeof v === 'number' && v > 0"),
  isNegative: plain('must be a negative number', "typeof v === 'number' && v < 0"),
  arrayNotEmpty: plain('should not be empty', 'Array.isArray(v) && v.length > 0'),
  isNumber: {
    message: '$property must be a number conforming to the specified constraints',
    code: ([options], source) => writeIsNumber(options, source),
  },
  min: bound(
    'must not be less than $constraint1',
    (limit) => `typeof v === 'number' && v >= ${limit}`,
  ),
  max: bound(
    'must not be greater than $constraint1',
    (limit) => `typeof v === 'number' && v <= ${limit}`,
  ),
  minLength: bound('must be longer than or equal to $constraint1 characters', (limit, source) =>
    writeLength(limit, undefined, source),
  ),
  maxLength: bound('must be shorter than or equal to $constraint1 characters', (limit, source) =>
    writeLength(0, limit, source),
  ),
  isLength: {
    // With no value at hand its message is the one about the lower bound.
    message: '$property must be longer than or equal to $constraint1 characters',
    code: ([min, max], source) =>
      isFiniteNumber(min) && (max === undefined || isFiniteNumber(max))
        ? writeLength(min, max, source)
        : undefined,
  },
  arrayMinSize: bound(
    'must contain at least $constraint1 elements',
    (limit) => `Array.isArray(v) && v.length >= ${limit}`,
  ),
  arrayMaxSize: bound(
    'must contain no more than $constraint1 elements',
    (limit) => `Array.isArray(v) && v.length <= ${limit}`,
  ),
  equals: {
    message: '$property must be equal to $constraint1',
    code: ([wanted], source) => `v === ${source.constant(wanted)}`,
  },
  notEquals: {
    message: '$property should not be equal to $constraint1',
    code: ([unwanted], source) => `v !== ${source.constant(unwanted)}`,
  },
  isIn: {
    message: '$property must be one of the following values: $constraint1',
    code: ([values], source) =>
      Array.isArray(values) ? `${source.constant(values)}.indexOf(v) !== -1` : undefined,
  },
  isNotIn: {
    message: '$property should not be one of the following values: $constraint1',
    code: ([values], source) =>
      Array.isArray(values) ? `${source.constant(values)}.indexOf(v) === -1` : undefined,
  },
  isEnum: {
    message: '$property must be one of the following values: $constraint2',
    code: ([entity], source) =>
      typeof entity === 'object' && entity !== null
        ? `${source.constant(new Set(Object.values(entity)))}.has(v)`
        : undefined,
  },
  matches: {
    message: '$property must match $constraint1 regular expression',
    code: ([pattern], source) =>
      pattern instanceof RegExp && !/[gy]/.test(pattern.flags)
        ? `typeof v === 'string' && ${source.constant(pattern)}.test(v)`
        : undefined,
  },
  isEmail: asked('must be an email'),
  isUrl: asked('must be a URL address'),
  isUuid: asked('must be a UUID'),
  isDateString: asked('must be a valid ISO 8601 date string'),
  isIso8601: asked('must be a valid ISO 8601 date string'),
  isAlpha: asked('must contain only letters (a-zA-Z)'),
  isAlphanumeric: asked('must contain only letters and numbers'),
  isNumberString: asked('must be a number string'),
  isBooleanString: asked('must be a boolean string'),
  isHexadecimal: asked('must be a hexadecimal number'),
  isLowercase: asked('must be a lowercase string'),
  isUppercase: asked('must be uppercase'),
  isMongoId: asked('must be a mongodb id'),
  isDate: asked('must be a Date instance'),
  contains: asked('must contain a $constraint1 string'),
  notContains: asked('should not contain a $constraint1 string'),
  isLatitude: asked('must be a latitude string or number'),
  isLongitude: asked('must be a longitude string or number'),
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function writeIsNumber(options: unknown, source: CheckSource): string | undefined {
  const { allowNaN, allowInfinity, maxDecimalPlaces } = (options ?? {}) as Record<string, unknown>
  if (Boolean(allowNaN) || Boolean(allowInfinity)) return undefined
  if (maxDecimalPlaces === undefined) return 'Number.isFinite(v)'
  if (!isFiniteNumber(maxDecimalPlaces)) return undefined
  return `Number.isFinite(v) && (v % 1 === 0 || ${source.constant(decimalPlaces)}(v) <= ${maxDecimalPlaces})`
}

/** Lengths as the package validator counts them: a surrogate pair is one, a variation selector none. */
function writeLength(min: number, max: number | undefined, source: CheckSource): string {
  const measure = `${source.constant(shownLength)}(v)`
  const tests = ["typeof v === 'string'"]
  // Counting can only make a text shorter, to a third at the least.
  if (min > 0) tests.push(`(v.length >= ${3 * min} || ${measure} >= ${min})`)
  if (max !== undefined) tests.push(`(v.length <= ${max} || ${measure} <= ${max})`)
  return tests.join(' && ')
}

function shownLength(text: string): number {
  if (!/[\uD800-\uDFFF\uFE0E\uFE0F]/.test(text)) return text.length
  const selected = text.match(/[^\uFE0F\uFE0E][\uFE0F\uFE0E]/g)?.length ?? 0
  const pairs = text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0
  return text.length - selected - pairs
}

/** As class-validator counts (`1.5e-7` has the four of `5e-7`), and the exponent where it throws (`1e-7`). */
function decimalPlaces(value: number): number {
  const text = String(value)
  return text.split('.')[1]?.length ?? -Number(text.split('e')[1])
}
