/**
 * class-validator's rules as JSON Schema. The schema is never stricter than the rule, and weaker only where JSON Schema
 * cannot express it (checksums, calendars, comparisons with other fields). Source: class-validator 0.15.
 */
import type { SchemaObject } from 'openapi3-ts/oas31'
import { enumValues } from '../fields/constraint-rule.js'
import { datetime } from '../fields/kinds/datetime.js'
import { portablePattern } from './portable-pattern.js'

/**
 * @param name the constraint's name, `isInt`
 * @param args the arguments of its decorator
 * @returns `undefined` for rules of the application itself, whose meaning is unknown
 */
export function constraintSchema(name: string, args: readonly unknown[]): SchemaObject | undefined {
  const known = Object.hasOwn(schemas, name) ? schemas[name] : undefined
  if (known !== undefined) return typeof known === 'function' ? known(...args) : known
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
  min: (least) => sized('minimum', least, 'number'),
  max: (most) => sized('maximum', most, 'number'),
  minLength: (least) => sized('minLength', least, 'string'),
  maxLength: (most) => sized('maxLength', most, 'string'),
  isLength: (least, most) => ({
    ...sized('minLength', least, 'string'),
    ...sized('maxLength', most, 'string'),
  }),
  matches: (pattern, flags) => matches(pattern, flags),
  contains: (seed) => (typeof seed === 'string' ? matching(quoted(seed)) : text),
  notContains: (seed) =>
    typeof seed === 'string' ? { type: 'string', not: { pattern: quoted(seed) } } : text,
  isArray: list,
  arrayNotEmpty: { type: 'array', minItems: 1 },
  arrayMinSize: (least) => sized('minItems', least, 'array'),
  arrayMaxSize: (most) => sized('maxItems', most, 'array'),
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
  isDateString: matching(isoMoment()),
  isIso8601: matching(isoMoment()),
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
function isoMoment(): string {
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
  const given =
    typeof pattern === 'string' && typeof flags === 'string' ? new RegExp(pattern, flags) : pattern
  const portable =
    given instanceof RegExp || typeof given === 'string' ? portablePattern(given) : undefined
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
function degrees(most: 90 | 180): SchemaObject {
  const whole =
    most === 90 ? '90(\\.0+)?|[1-8]?\\d(\\.\\d+)?' : '180(\\.0+)?|(1[0-7]\\d|\\d{1,2})(\\.\\d+)?'
  return {
    type: ['number', 'string'],
    minimum: -most,
    maximum: most,
    pattern: `^\\(?\\s?[+-]?(${whole})\\)?(,.*)?$`,
  }
}
