/**
 * Translates class-validator rules to JSON Schema. The schema is never stricter than the rule, and weaker only where
 * JSON Schema cannot express the rule (checksums, calendars, comparisons with other fields). Source: class-validator
 * 0.15.
 */
import type { SchemaObject } from 'openapi3-ts/oas31'
import { enumValues, isSent, type Constraint } from '../fields/class-validator.js'
import { toRules } from '../fields/constraint-runner.js'
import type { ShapeField } from '../fields/shape.js'
import { mergeSchemas, type SchemaOrReference, portablePattern } from './json-schema.js'
import { datetime } from '../fields/kinds/dates.js'

/**
 * The schemas of a property's rules. `each` rules apply to every item of a list, or to the value itself if it is not a
 * list.
 */
interface ConstraintSchemas {
  readonly value: SchemaOrReference
  readonly items: SchemaOrReference | undefined
}

/**
 * The schema of a property without `@Field`, from its class-validator rules. `@IsOptional` does not add null; rules
 * with conditions are left out.
 */
export function schemaFromConstraints(
  { constraints, nested }: ShapeField,
  refer: (nested: NonNullable<ShapeField['nested']>) => SchemaOrReference,
): SchemaOrReference {
  const { value, items } = schemasOf(constraints)
  const item = nested === undefined || !nests(constraints) ? items : refer(nested)
  if (item === undefined) return value
  const isList = 'type' in value && value.type === 'array'
  if (isList) return mergeSchemas([value, { items: item }])
  return mergeSchemas([oneOrMany(item), value])
}

/** Adds class-validator's rules to the schema of a property with `@Field`. */
export function addConstraintSchemas(
  schema: SchemaOrReference,
  { constraints, list }: ShapeField,
): SchemaOrReference {
  const { value, items } = schemasOf(constraints)
  if (items === undefined) return mergeSchemas([schema, value])
  return mergeSchemas([schema, value, list ? { items } : items])
}

/** Whether a rule without conditions rejects a missing property. */
export function requiresPresence({ constraints }: ShapeField): boolean {
  if (hasCustomCondition(constraints)) return false
  return plainRules(constraints).some((constraint) =>
    toRules(constraint).some(({ constraint: rule }) => {
      const args = { targetName: '', property: '', object: {}, value: undefined }
      return (
        rule?.instance.validate(undefined, {
          ...args,
          constraints: constraint.metadata.constraints,
        }) === false
      )
    }),
  )
}

/** A copy of the field with only these rules of class-validator. */
export function withConstraints(field: ShapeField, constraints: readonly Constraint[]): ShapeField {
  const { declared } = field
  const conditional = constraints.some(({ metadata }) => metadata.type === 'conditionalValidation')
  return {
    ...field,
    constraints,
    optional:
      conditional ||
      (declared === undefined
        ? constraints.every(({ name }) => name === 'whitelistValidation')
        : declared.optional === true || declared.default !== undefined),
    nullable: declared?.nullable === true || constraints.some(({ name }) => name === 'isOptional'),
  }
}

function schemasOf(constraints: readonly Constraint[]): ConstraintSchemas {
  if (hasCustomCondition(constraints)) return { value: {}, items: undefined }
  const value: SchemaOrReference[] = []
  const items: SchemaOrReference[] = []
  for (const { name, args, each } of plainRules(constraints)) {
    const schema = constraintSchema(name, args)
    if (schema !== undefined) (each ? items : value).push(schema)
  }
  return { value: mergeSchemas(value), items: items.length === 0 ? undefined : mergeSchemas(items) }
}

/** Known rules that apply whenever the value is present. */
function plainRules(constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(
    ({ name, args, metadata }) =>
      metadata.validateIf === undefined && constraintSchema(name, args) !== undefined,
  )
}

/** `@ValidateIf`: only the application knows when the rules apply. */
function hasCustomCondition(constraints: readonly Constraint[]): boolean {
  return constraints.some(
    ({ name, args, metadata }) =>
      metadata.type === 'conditionalValidation' && name !== 'isOptional' && args[0] !== isSent,
  )
}

function nests(constraints: readonly Constraint[]): boolean {
  return constraints.some(({ metadata }) => metadata.type === 'nestedValidation')
}

function oneOrMany(item: SchemaOrReference): SchemaOrReference {
  const many: SchemaOrReference = { type: 'array', items: item }
  if ('$ref' in item || item.type !== undefined) return { anyOf: [item, many] }
  // A schema without a type would also accept lists.
  return { if: { type: 'array' }, then: many, else: item } as SchemaOrReference
}

/**
 * @param name the constraint's name, `isInt`
 * @param args the arguments of its decorator
 * @returns `undefined` for rules of the application itself, whose meaning is unknown
 */
function constraintSchema(name: string, args: readonly unknown[]): SchemaObject | undefined {
  const entry = Object.hasOwn(schemas, name) ? schemas[name] : undefined
  if (entry !== undefined) return typeof entry === 'function' ? entry(...args) : entry
  return texts.has(name) ? text : undefined
}

type Maker = (...args: readonly unknown[]) => SchemaObject

const text: SchemaObject = { type: 'string' }
const list: SchemaObject = { type: 'array' }
const anyNumber: SchemaObject = { type: 'number' }

const matching = (pattern: string): SchemaObject => ({ type: 'string', pattern })

function sized(word: string, size: unknown, type: 'string' | 'array' | 'number'): SchemaObject {
  return typeof size === 'number' && Number.isFinite(size) ? { type, [word]: size } : { type }
}

function isScalar(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

/** Only scalars can equal a value from JSON: objects and lists are new instances each time. */
function scalarsOf(values: unknown): unknown[] {
  return (Array.isArray(values) ? (values as unknown[]) : []).filter(isScalar)
}

const quoted = (plain: string): string => plain.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

const schemas: Readonly<Record<string, SchemaObject | Maker | undefined>> = {
  isDefined: { not: { type: 'null' } },
  isEmpty: { enum: ['', null] },
  isNotEmpty: { not: { enum: ['', null] } },
  equals: (value) => (isScalar(value) ? { const: value } : {}),
  notEquals: (value) => (isScalar(value) ? { not: { const: value } } : {}),
  isIn: (values) => (Array.isArray(values) ? { enum: scalarsOf(values) } : {}),
  isNotIn: (values) => (scalarsOf(values).length === 0 ? {} : { not: { enum: scalarsOf(values) } }),
  isEnum: (entity) => ({ enum: scalarsOf(enumValues(entity)) }),
  isString: text,
  isBoolean: { type: 'boolean' },
  isObject: { type: 'object' },
  isInstance: { type: 'object' },
  isNotEmptyObject: { type: 'object', minProperties: 1 },
  isInt: { type: 'integer' },
  isNumber: (options) => decimals(options),
  isPositive: { type: 'number', exclusiveMinimum: 0 },
  isNegative: { type: 'number', exclusiveMaximum: 0 },
  isDivisibleBy: (by) => divisible(by),
  min: (min) => sized('minimum', min, 'number'),
  max: (max) => sized('maximum', max, 'number'),
  minLength: (min) => sized('minLength', min, 'string'),
  maxLength: (max) => sized('maxLength', max, 'string'),
  isLength: (min, max) => ({
    ...sized('minLength', min, 'string'),
    ...sized('maxLength', max, 'string'),
  }),
  matches: (pattern, flags) => matches(pattern, flags),
  contains: (seed) => (typeof seed === 'string' ? matching(quoted(seed)) : text),
  notContains: (seed) =>
    typeof seed === 'string' ? { type: 'string', not: { pattern: quoted(seed) } } : text,
  isArray: list,
  arrayNotEmpty: { type: 'array', minItems: 1 },
  arrayMinSize: (min) => sized('minItems', min, 'array'),
  arrayMaxSize: (max) => sized('maxItems', max, 'array'),
  arrayContains: (values) => ({
    type: 'array',
    allOf: scalarsOf(values).map((value) => ({ contains: { const: value } })),
  }),
  arrayNotContains: (values) => ({ type: 'array', items: { not: { enum: scalarsOf(values) } } }),
  // class-validator compares objects by identity: two equal ones are allowed.
  arrayUnique: (by) =>
    typeof by === 'function'
      ? list
      : {
          type: 'array',
          anyOf: [{ uniqueItems: true }, { contains: { type: ['object', 'array'] } }],
        },
  isDateString: matching(isoTimestampPattern()),
  isIso8601: matching(isoTimestampPattern()),
  isRFC3339: matching(
    '^\\d{4}-\\d{2}-\\d{2}[ tT]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([zZ]|[+-]\\d{2}:\\d{2})$',
  ),
  isEmail: (options) =>
    options === undefined ? { type: 'string', format: 'idn-email' } : matching('@'),
  isUrl: matching('^[^\\s<>]+$'),
  isFqdn: (options) =>
    options === undefined ? { type: 'string', format: 'idn-hostname' } : matching('^[^\\s]+$'),
  isUuid: (version) => matching(uuidPattern(version)),
  isIp: (version) => matching(ipPattern(version)),
  isAlpha: (locale) => (isEnglish(locale) ? matching('^[A-Za-z]+$') : text),
  isAlphanumeric: (locale) => (isEnglish(locale) ? matching('^[0-9A-Za-z]+$') : text),
  isNumberString: (options) =>
    options === undefined ? matching('^[+-]?([0-9]*\\.)?[0-9]+$') : text,
  isBooleanString: { type: 'string', enum: ['true', 'false', '1', '0'] },
  isHexadecimal: matching('^(0x|0h|0X|0H)?[0-9A-Fa-f]+$'),
  isOctal: matching('^(0o|0O)?[0-7]+$'),
  isHexColor: matching('^#?([0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$'),
  isMongoId: matching('^[0-9A-Fa-f]{24}$'),
  isMilitaryTime: matching('^([01]\\d|2[0-3]):?[0-5]\\d$'),
  isPort: matching('^[-+]?(?:0|[1-9]\\d{0,4})$'),
  isAscii: matching('^[\\x00-\\x7F]+$'),
  isHash: (algorithm) => matching(`^[0-9A-Fa-f]{${hashLength(algorithm)}}$`),
  isJwt: matching('^[A-Za-z0-9_-]*={0,2}\\.[A-Za-z0-9_-]*={0,2}\\.[A-Za-z0-9_-]*={0,2}$'),
  isLatitude: degrees(90),
  isLongitude: degrees(180),
  isLatLong: matching(','),
  isDate: datetime.schema,
  minDate: datetime.schema,
  maxDate: datetime.schema,
}

/** Rules that only accept text, and that JSON Schema cannot express further. */
const texts: ReadonlySet<string> = new Set(
  `isLowercase isUppercase isBase32 isBase58 isBase64 isBIC isBtcAddress isByteLength isCreditCard isCurrency
  isDataURI isDecimal isEAN isEthereumAddress IsFirebasePushId isFullWidth isHalfWidth isVariableWidth isMultibyte
  isSurrogatePair isHSL isRgbColor isIBAN isIdentityCard isIsin isIsbn isISSN isISRC isISO31661Alpha2 isISO31661Alpha3
  isISO31661Numeric isISO4217CurrencyCode isISO6391 isJson isLocale isMacAddress isMagnetURI isMimeType isMobilePhone
  isPassportNumber isPhoneNumber isPostalCode isSemVer isStrongPassword isTaxId isTimeZone`.split(
    /\s+/,
  ),
)

/** ISO 8601 as that library reads it: dates, weeks and ordinal dates; time and offset may each be missing. */
function isoTimestampPattern(): string {
  const day = '(0[1-9]|1[0-2])(-?(0[1-9]|[12]\\d|3[01]))?|W([0-4]\\d|5[0-3])(-?[1-7])?|[0-3]\\d{2}'
  const time = '(([01]\\d|2[0-3])(:?[0-5]\\d)?|24:?00)([.,]\\d+)?'
  const offset = '[zZ]|[+-]([01]\\d|2[0-3]):?([0-5]\\d)?'
  return `^[+-]?\\d{4}(-?(${day}))?([T\\s](${time})?(:?[0-5]\\d([.,]\\d+)?)?(${offset})?)?$`
}

function decimals(options: unknown): SchemaObject {
  const { maxDecimalPlaces } = (options ?? {}) as { maxDecimalPlaces?: unknown }
  return maxDecimalPlaces === 0 ? { type: 'integer' } : anyNumber
}

/** class-validator reads the divisor as an integer. */
function divisible(by: unknown): SchemaObject {
  const divisor = typeof by === 'number' ? Math.abs(Math.trunc(by)) : 0
  return divisor > 0 && divisor <= 2 ** 31 ? { type: 'number', multipleOf: divisor } : anyNumber
}

function matches(pattern: unknown, flags: unknown): SchemaObject {
  const expression =
    typeof pattern === 'string' && typeof flags === 'string' ? new RegExp(pattern, flags) : pattern
  const portable =
    expression instanceof RegExp || typeof expression === 'string'
      ? portablePattern(expression)
      : undefined
  return portable === undefined ? text : matching(portable)
}

function isEnglish(locale: unknown): boolean {
  return locale === undefined || locale === 'en-US'
}

function uuidPattern(version: unknown): string {
  const digit = String(version)
  if (!/^[1-8]$/.test(digit)) return '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$'
  return `^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-${digit}[0-9A-Fa-f]{3}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`
}

const ipv4 = '((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
// IPv6 addresses may contain a zone, which the format `ipv6` does not allow.
const ipv6 = '(?=.*:.*:)[0-9A-Fa-f:.]+(%[0-9A-Za-z.:-]+)?'

function ipPattern(version: unknown): string {
  if (String(version) === '4') return `^${ipv4}$`
  return String(version) === '6' ? `^${ipv6}$` : `^(${ipv4}|${ipv6})$`
}

function hashLength(algorithm: unknown): string {
  const lengths: Readonly<Record<string, number>> = {
    md5: 32,
    md4: 32,
    sha1: 40,
    sha256: 64,
    sha384: 96,
    sha512: 128,
    ripemd128: 32,
    ripemd160: 40,
    tiger128: 32,
    tiger160: 40,
    tiger192: 48,
    crc32: 8,
    crc32b: 8,
  }
  return String(lengths[String(algorithm)] ?? '1,')
}

/** A number, or its text. */
function degrees(limit: 90 | 180): SchemaObject {
  const degreesPattern =
    limit === 90 ? '90(\\.0+)?|[1-8]?\\d(\\.\\d+)?' : '180(\\.0+)?|(1[0-7]\\d|\\d{1,2})(\\.\\d+)?'
  return {
    type: ['number', 'string'],
    minimum: -limit,
    maximum: limit,
    pattern: `^\\(?\\s?[+-]?(${degreesPattern})\\)?(,.*)?$`,
  }
}
