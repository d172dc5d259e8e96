/**
 * Names of classes, files, properties and relations. The names of a database always give the same names: tables and columns
 * are named in the order of the catalogue, and a name that is taken leads to the next candidate.
 */
import { toSingular, toPlural } from '../../records/model/generated-names.js'
import { pluralOf, queryNames, toCamelCase } from '../../graphql/records/names.js'

/** `order_lines`, `OrderLines` and `order-lines` are all `order`, `lines`. */
export function toWords(name: string): string[] {
  return name
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase())
}

/** Plurals that English does not use in the singular. */
const alwaysPlural: ReadonlySet<string> = new Set(['data', 'media', 'metadata', 'series', 'sms'])

/** `order_lines` → `OrderLine` */
export function toClassName(table: string): string {
  const words = toWords(table)
  const last = words.pop() ?? 'table'
  const name = toPascal([...words, alwaysPlural.has(last) ? last : toSingular(last)])
  return /^\d/.test(name) ? `Table${name}` : name
}

/** `customer_id` → `customerId` */
export function toPropertyName(column: string): string {
  const name = lowerFirst(toPascal(toWords(column)))
  if (name === '') return 'column'
  return /^\d/.test(name) ? `column${name}` : name
}

/** `OrderLine` → `order-line` */
export function toFileName(className: string): string {
  return toWords(className).join('-')
}

export function toPascal(words: readonly string[]): string {
  return words.map(upperFirst).join('')
}

export function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** `OrderLine` → `orderLines` */
export function toListName(className: string): string {
  const words = toWords(className)
  const last = words.pop() ?? ''
  return lowerFirst(toPascal([...words, toPlural(last)]))
}

/** Names that a file uses, global names of JavaScript, and types of GraphQL. In lower case. */
const reservedClasses: ReadonlySet<string> = new Set(
  [
    ...['Record', 'Field', 'BelongsTo', 'HasMany', 'Rel', 'Generated', 'ExactNumber'],
    ...['Array', 'BigInt', 'Boolean', 'Buffer', 'Date', 'Error', 'Function', 'Infinity', 'JSON'],
    ...['Map', 'Math', 'NaN', 'Number', 'Object', 'Promise', 'Proxy', 'Reflect', 'RegExp', 'Set'],
    ...['String', 'Symbol', 'Uint8Array', 'URL', 'WeakMap', 'WeakSet', 'Index', 'Records'],
    ...['ID', 'Int', 'Float', 'Query', 'Mutation', 'Subscription', 'Node', 'PageInfo'],
    ...['ChangeEvent', 'Json', 'TimeUnit', 'OrderDirection'],
    // TypeScript does not allow a class that is called like its keywords for types.
    ...['Any', 'Never', 'Unknown', 'Undefined', 'Null', 'Void'],
  ].map((name) => name.toLowerCase()),
)

/** The endings of the GraphQL types of a record, which no other record may be called. */
const typeEndings = [
  ...['', 'Input', 'Where', 'Order', 'Connection', 'Edge', 'Nested'],
  ...['NestedList', 'Change', 'Changes', 'Unique', 'Group', 'GroupKey', 'TimeGroup', 'Having'],
  ...['Aggregate', 'AggregateOrder', 'Sum', 'Avg', 'Min', 'Max'],
]

/** The first free candidate, otherwise the last one with a number. @param otherwise the name if there are no candidates */
function firstFree(
  candidates: readonly string[],
  otherwise: string,
  isFree: (name: string) => boolean,
): string {
  const last = candidates.at(-1) ?? otherwise
  for (let count = 1; ; count++) {
    const names = count === 1 ? candidates : [`${last}${count}`]
    const free = names.find(isFree)
    if (free !== undefined) return free
  }
}

/** Names of the classes of records. Their types and queries in GraphQL must differ too. */
export class ClassNames {
  readonly #taken = new Set<string>()

  /** Takes the first name of the candidates that is free. */
  take(candidates: readonly string[]): string {
    const free = firstFree(candidates, 'Table', (name) => this.#isFree(name))
    for (const name of namesOf(free)) this.#taken.add(name)
    return free
  }

  #isFree(name: string): boolean {
    if (reservedClasses.has(name.toLowerCase())) return false
    return namesOf(name).every((one) => !this.#taken.has(one))
  }
}

/** All names that a record's class stands for, in lower case because file systems may ignore it. */
function namesOf(className: string): string[] {
  const { singular, plural } = queryNames(className, {})
  return [
    ...typeEndings.map((ending) => `type ${className}${ending}`),
    ...[singular, plural, `${singular}Count`, `${plural}Page`, `${plural}Aggregate`].map(
      (name) => `query ${name}`,
    ),
    `query ${singular}Changed`,
    ...[className, pluralOf(className)].map((name) => `mutation ${name}`),
    `file ${toFileName(className)}`,
  ].map((name) => name.toLowerCase())
}

/** Properties that every object has, that classes get, and words of filters. */
const reservedProperties: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  ...['prototype', 'toJSON', 'and', 'or', 'not', 'then'],
])

/** Names of the members of one class. */
export class MemberNames {
  readonly #taken = new Set<string>()

  /** Takes the first name of the candidates that is free. */
  take(candidates: readonly string[]): string {
    const free = firstFree(candidates, 'column', (name) => this.isFree(name))
    this.#taken.add(toCamelCase(free))
    return free
  }

  isFree(name: string): boolean {
    return name !== '' && !reservedProperties.has(name) && !this.#taken.has(toCamelCase(name))
  }
}
