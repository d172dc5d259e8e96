/** class-validator's own rules, and what they mean as code over a value `v`. Source: class-validator 0.15, src/decorator. */
import type { FunctionSet } from './function-set.js'
import {
  areUnique,
  decimalPlaces,
  hasFilledKey,
  hasKey,
  validatorLength,
} from './constraint-measures.js'
import { enumValues, type ConstraintRule } from './constraint-rule.js'

export interface BuiltInConstraint {
  /** Its default message, without the prefix that `each` puts before it. */
  readonly message: string
  /** `call`: its own function is called in place; it is pure and synchronous. */
  readonly code: (args: readonly unknown[], functions: FunctionSet) => string | undefined
  /** What the probes cannot see. */
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

/** By constraint name. Rules that are not here are always asked. */
export const builtIns: Readonly<Record<string, BuiltInConstraint | undefined>> = {
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
    // With no value at hand its message is the one about the lower bound.
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
  // Two rules that could bring a server down as they are: one is quadratic in the list, one fails on a key
  // `hasOwnProperty`.
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
  // Counting can only make a text shorter, to a third at the least.
  if (min > 0) tests.push(`(v.length >= ${3 * min} || ${measure} >= ${min})`)
  if (max !== undefined) tests.push(`(v.length <= ${max} || ${measure} <= ${max})`)
  return tests.join(' && ')
}

/** Whether `@ArrayUnique` was given a function that tells items apart: it touches them, or takes different ones for one. */
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
