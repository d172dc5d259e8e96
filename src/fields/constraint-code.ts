/**
 * Writes class-validator's built-in rules as code over a value `v`. A rule is compiled only if its constraint has the
 * built-in's message and agrees with the code on a set of probe values. Otherwise (a custom rule of the same name, or a
 * changed meaning in a later version) the constraint itself is called. Sources: class-validator 0.15, src/decorator;
 * validator, isLength.
 */
import type { FunctionSet } from './function-set.js'
import { enumValues } from './class-validator.js'
import { type ConstraintRule, argumentsOf } from './constraint-runner.js'

/** A text's length as the package validator counts it: a surrogate pair counts once, a variation selector not at all. */
function validatorLength(text: string): number {
  if (!/[\uD800-\uDFFF\uFE0E\uFE0F]/.test(text)) return text.length
  const selected = text.match(/[^\uFE0F\uFE0E][\uFE0F\uFE0E]/g)?.length ?? 0
  const pairs = text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0
  return text.length - selected - pairs
}

/** Counts as class-validator does (`1.5e-7` has the four of `5e-7`). Where it throws (`1e-7`), the exponent. */
function decimalPlaces(value: number): number {
  const text = String(value)
  return text.split('.')[1]?.length ?? -Number(text.split('e')[1])
}

/** Compares as `indexOf` does, for which NaN is not equal to itself. */
function areUnique(list: readonly unknown[]): boolean {
  return new Set(list).size === list.length && !list.some(Number.isNaN)
}

/** The meaning of `@IsNotEmptyObject()`, without calling the value's own `hasOwnProperty`. */
function hasKey(value: unknown): boolean {
  return mayHaveKeys(value) && Object.keys(value).length > 0
}

/** The meaning of `@IsNotEmptyObject({ nullable: false })`: a key has a value other than null and undefined. */
function hasFilledKey(value: unknown): boolean {
  return mayHaveKeys(value) && Object.values(value).some((one) => one !== null && one !== undefined)
}

function mayHaveKeys(value: unknown): value is object {
  if (value === null || Array.isArray(value)) return false
  return typeof value === 'object' || typeof value === 'function'
}

interface BuiltInConstraint {
  /** Its default message, without the prefix that `each` adds. */
  readonly message: string
  /** Returns code, or `call` to call the constraint's own function, which is pure and synchronous. */
  readonly code: (args: readonly unknown[], functions: FunctionSet) => string | undefined
  /** Conditions that the probe values cannot show. */
  readonly isExcluded?: (rule: ConstraintRule) => boolean
}

const withCode = (message: string, code: string): BuiltInConstraint => ({
  message: `$property ${message}`,
  code: () => code,
})
const callingOriginal = (message: string): BuiltInConstraint => withCode(message, 'call')

/** The code for rules with bounds, which must be numbers to be written as such. */
const withLimit = (
  message: string,
  write: (limit: number, functions: FunctionSet) => string,
): BuiltInConstraint => ({
  message: `$property ${message}`,
  code: ([limit], functions) => (isFiniteNumber(limit) ? write(limit, functions) : undefined),
})

/** By constraint name. The constraint is always called for rules that are not listed here. */
const builtIns: Readonly<Record<string, BuiltInConstraint | undefined>> = {
  isDefined: withCode('should not be null or undefined', 'v !== undefined && v !== null'),
  isString: withCode('must be a string', "typeof v === 'string' || v instanceof String"),
  isInt: withCode('must be an integer number', 'Number.isInteger(v)'),
  isBoolean: withCode('must be a boolean value', "typeof v === 'boolean' || v instanceof Boolean"),
  isArray: withCode('must be an array', 'Array.isArray(v)'),
  isObject: withCode(
    'must be an object',
    "v != null && (typeof v === 'object' || typeof v === 'function') && !Array.isArray(v)",
  ),
  isNotEmpty: withCode('should not be empty', "v !== '' && v !== null && v !== undefined"),
  isEmpty: withCode('must be empty', "v === '' || v === null || v === undefined"),
  isPositive: withCode('must be a positive number', "typeof v === 'number' && v > 0"),
  isNegative: withCode('must be a negative number', "typeof v === 'number' && v < 0"),
  arrayNotEmpty: withCode('should not be empty', 'Array.isArray(v) && v.length > 0'),
  isNumber: {
    message: '$property must be a number conforming to the specified constraints',
    code: ([options], functions) => writeIsNumber(options, functions),
  },
  min: withLimit(
    'must not be less than $constraint1',
    (limit) => `typeof v === 'number' && v >= ${limit}`,
  ),
  max: withLimit(
    'must not be greater than $constraint1',
    (limit) => `typeof v === 'number' && v <= ${limit}`,
  ),
  minLength: withLimit(
    'must be longer than or equal to $constraint1 characters',
    (limit, functions) => writeLength(limit, undefined, functions),
  ),
  maxLength: withLimit(
    'must be shorter than or equal to $constraint1 characters',
    (limit, functions) => writeLength(0, limit, functions),
  ),
  isLength: {
    // Without a value, its message is the one about the lower bound.
    message: '$property must be longer than or equal to $constraint1 characters',
    code: ([min, max], functions) =>
      isFiniteNumber(min) && (max === undefined || isFiniteNumber(max))
        ? writeLength(min, max, functions)
        : undefined,
  },
  arrayMinSize: withLimit(
    'must contain at least $constraint1 elements',
    (limit) => `Array.isArray(v) && v.length >= ${limit}`,
  ),
  arrayMaxSize: withLimit(
    'must contain no more than $constraint1 elements',
    (limit) => `Array.isArray(v) && v.length <= ${limit}`,
  ),
  equals: {
    message: '$property must be equal to $constraint1',
    code: ([expected], functions) => `v === ${functions.constant(expected)}`,
  },
  notEquals: {
    message: '$property should not be equal to $constraint1',
    code: ([excluded], functions) => `v !== ${functions.constant(excluded)}`,
  },
  isIn: {
    message: '$property must be one of the following values: $constraint1',
    code: ([values], functions) =>
      Array.isArray(values) ? `${functions.constant(values)}.indexOf(v) !== -1` : undefined,
  },
  isNotIn: {
    message: '$property should not be one of the following values: $constraint1',
    code: ([values], functions) =>
      Array.isArray(values) ? `${functions.constant(values)}.indexOf(v) === -1` : undefined,
  },
  isEnum: {
    message: '$property must be one of the following values: $constraint2',
    code: ([entity], functions) =>
      typeof entity === 'object' && entity !== null
        ? `${functions.constant(new Set(enumValues(entity)))}.has(v)`
        : undefined,
  },
  matches: {
    message: '$property must match $constraint1 regular expression',
    code: ([pattern], functions) =>
      pattern instanceof RegExp && !/[gy]/.test(pattern.flags)
        ? `typeof v === 'string' && ${functions.constant(pattern)}.test(v)`
        : undefined,
  },
  // The original of the first rule takes quadratic time. The original of the second fails for a key `hasOwnProperty`.
  arrayUnique: {
    message: "All $property's elements must be unique",
    code: (_args, functions) => `Array.isArray(v) && ${functions.constant(areUnique)}(v)`,
    isExcluded: hasIdentifierFunction,
  },
  isNotEmptyObject: {
    message: '$property must be a non-empty object',
    code: ([options], functions) => {
      const requiresFilledKey = (options as { nullable?: unknown } | undefined)?.nullable === false
      return `${functions.constant(requiresFilledKey ? hasFilledKey : hasKey)}(v)`
    },
  },
  isEmail: callingOriginal('must be an email'),
  isUrl: callingOriginal('must be a URL address'),
  isUuid: callingOriginal('must be a UUID'),
  isDateString: callingOriginal('must be a valid ISO 8601 date string'),
  isIso8601: callingOriginal('must be a valid ISO 8601 date string'),
  isAlpha: callingOriginal('must contain only letters (a-zA-Z)'),
  isAlphanumeric: callingOriginal('must contain only letters and numbers'),
  isNumberString: callingOriginal('must be a number string'),
  isBooleanString: callingOriginal('must be a boolean string'),
  isHexadecimal: callingOriginal('must be a hexadecimal number'),
  isLowercase: callingOriginal('must be a lowercase string'),
  isUppercase: callingOriginal('must be uppercase'),
  isMongoId: callingOriginal('must be a mongodb id'),
  isDate: callingOriginal('must be a Date instance'),
  contains: callingOriginal('must contain a $constraint1 string'),
  notContains: callingOriginal('should not contain a $constraint1 string'),
  isLatitude: callingOriginal('must be a latitude string or number'),
  isLongitude: callingOriginal('must be a longitude string or number'),
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function writeIsNumber(options: unknown, functions: FunctionSet): string | undefined {
  const { allowNaN, allowInfinity, maxDecimalPlaces } = (options ?? {}) as Record<string, unknown>
  if (Boolean(allowNaN) || Boolean(allowInfinity)) return undefined
  if (maxDecimalPlaces === undefined) return 'Number.isFinite(v)'
  if (!isFiniteNumber(maxDecimalPlaces)) return undefined
  return `Number.isFinite(v) && (v % 1 === 0 || ${functions.constant(decimalPlaces)}(v) <= ${maxDecimalPlaces})`
}

function writeLength(min: number, max: number | undefined, functions: FunctionSet): string {
  const measure = `${functions.constant(validatorLength)}(v)`
  const tests = ["typeof v === 'string'"]
  // The counted length is at most `length`, and at least a third of it.
  if (min > 0) tests.push(`(v.length >= ${3 * min} || ${measure} >= ${min})`)
  if (max !== undefined) tests.push(`(v.length <= ${max} || ${measure} <= ${max})`)
  return tests.join(' && ')
}

/** Whether `@ArrayUnique` has a function that identifies items: it reads them, or treats different items as equal. */
function hasIdentifierFunction({ constraint }: ConstraintRule): boolean {
  const touched: string[] = []
  const traps: ProxyHandler<object> = {
    get: () => void touched.push('get'),
    has: () => touched.push('has') < 0,
    ownKeys: () => {
      touched.push('ownKeys')
      return []
    },
  }
  const item = (): object => new Proxy({}, traps)
  const lists = [
    [item(), item()],
    ['a', 'A', ' a', 'á', ''],
    [1, '1', '01', 1.5, 2, true],
    [{}, {}],
  ]
  try {
    const apart = lists.every((list) => constraint?.instance.validate(list, {} as never) === true)
    return touched.length > 0 || !apart
  } catch {
    return true
  }
}

/**
 * @returns an expression that is true for valid values, or `undefined` if the constraint must be called
 */
export function writeConstraint(rule: ConstraintRule, functions: FunctionSet): string | undefined {
  const { constraint, metadata } = rule
  if (constraint === undefined || metadata.validateIf !== undefined) return undefined
  const builtIn = builtIns[rule.code]
  if (builtIn === undefined || !hasBuiltInMessage(rule, builtIn.message)) return undefined
  if (builtIn.isExcluded?.(rule) === true) return undefined
  const code = builtIn.code(metadata.constraints ?? [], functions)
  if (code === 'call') return writeOriginalCall(rule, functions)
  return code !== undefined && agreesOnProbes(rule, code, functions) ? code : undefined
}

function hasBuiltInMessage(rule: ConstraintRule, message: string): boolean {
  const expected = (rule.metadata.each === true ? 'each value in ' : '') + message
  const args = argumentsOf(rule, undefined, {})
  try {
    return rule.constraint?.instance.defaultMessage?.(args) === expected
  } catch {
    return false
  }
}

function writeOriginalCall(rule: ConstraintRule, functions: FunctionSet): string | undefined {
  const { instance } = rule.constraint ?? {}
  if (instance === undefined) return undefined
  return `${functions.constant(instance)}.validate(v, ${functions.constant(argumentsOf(rule, undefined, undefined))})`
}

function agreesOnProbes(rule: ConstraintRule, code: string, functions: FunctionSet): boolean {
  const test = functions.tryOut(code)
  const args = argumentsOf(rule, undefined, {})
  return [...probes, ...probesAround(rule.metadata.constraints ?? [])].every((value) => {
    try {
      return Boolean(rule.constraint?.instance.validate(value, args)) === Boolean(test(value))
    } catch {
      // The original throws for some values, such as IsNumber with decimal places for 1e-7.
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

function probesAround(args: readonly unknown[]): unknown[] {
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
