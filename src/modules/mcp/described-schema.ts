/** The schema of the records with `@Tool` as text, in the view of a caller: without what the caller may not read. */
import { fieldNameVariants, normalizeName, type HiddenFields } from './hidden-fields.js'

/** A type definition: `type Ticket { … }`. */
interface TypeDefinition {
  readonly name: string
  readonly text: string
}

const rootTypes: ReadonlySet<string> = new Set(['Query', 'Mutation'])

/**
 * Shortens a schema for a model to read: all records in brief, or one record in full.
 *
 * @param sdl in the GraphQL schema language
 * @param hidden one entry for each record
 * @param recordName describe this record in full, with its root fields and the types that they use
 */
export function describeSchema(
  sdl: string,
  hidden: ReadonlyMap<string, HiddenFields>,
  recordName?: string,
): string {
  const definitions = withoutHidden(readDefinitions(sdl), hidden)
  const records = [...hidden.keys()]
  if (recordName === undefined) {
    const listed = definitions.filter(({ name }) => rootTypes.has(name) || records.includes(name))
    return listed.map(({ text }) => withoutDescriptions(text)).join('\n\n')
  }
  const otherRecords = new Set(records.filter((name) => name !== recordName))
  const descriptions = new Map<string, string>()
  const pendingNames: string[] = []
  for (const { name, text } of definitions.filter((definition) => rootTypes.has(definition.name))) {
    const fields = fieldsOf(text).filter((field) =>
      typeNamesIn(field).some((type) => belongsToRecord(type, recordName)),
    )
    if (fields.length === 0) continue
    descriptions.set(name, `type ${name} {\n${fields.join('')}}`)
    pendingNames.push(...fields.flatMap(typeNamesIn))
  }
  const byName = new Map(definitions.map((definition) => [definition.name, definition.text]))
  for (let name = pendingNames.pop(); name !== undefined; name = pendingNames.pop()) {
    const text = byName.get(name)
    if (
      text === undefined ||
      descriptions.has(name) ||
      [...otherRecords].some((other) => belongsToRecord(name, other))
    )
      continue
    descriptions.set(name, withoutDescriptions(text))
    pendingNames.push(...typeNamesIn(text))
  }
  return [...descriptions.values()].join('\n\n')
}

/** The names of the schema that are not in the caller's view of it: of types, fields, arguments and values. */
export function findHiddenNames(
  sdl: string,
  hidden: ReadonlyMap<string, HiddenFields>,
): Set<string> {
  const definitions = readDefinitions(sdl)
  const namesIn = (view: readonly TypeDefinition[]): string[] =>
    view.flatMap(({ text }) => wordsIn(withoutDescriptions(text)))
  const names = new Set(namesIn(definitions))
  for (const name of namesIn(withoutHidden(definitions, hidden))) names.delete(name)
  return names
}

/**
 * Hides names in an error of graphql-js: removes its suggestion, or replaces the message if the rest names one too, such
 * as the type of an argument.
 */
export function hideNames(message: string, names: ReadonlySet<string>): string {
  const hasHiddenName = (text: string): boolean => wordsIn(text).some((word) => names.has(word))
  if (!hasHiddenName(message)) return message
  const start = message.lastIndexOf(' Did you mean ')
  const text = start === -1 ? message : message.slice(0, start)
  return hasHiddenName(text)
    ? 'The operation does not fit the schema that the tool describe returns.'
    : text
}

export function wordsIn(text: string): string[] {
  return text.match(/\w+/g) ?? []
}

/** Removes the types of hidden records, the fields that lead to them, and hidden fields. */
function withoutHidden(
  definitions: readonly TypeDefinition[],
  hidden: ReadonlyMap<string, HiddenFields>,
): TypeDefinition[] {
  const records = [...hidden.keys()]
  const hiddenRecords = records.filter((name) => hidden.get(name) === 'all')
  const ownerOf = (type: string): string | undefined =>
    longestName(records.filter((name) => belongsToRecord(type, name)))
  const isHiddenType = (type: string): boolean => hiddenRecords.includes(ownerOf(type) ?? '')
  // `deleteNotes(ids: [ID!]!): Int` names its record only here.
  const isHiddenRootField = (field: string): boolean => {
    const [, typeName = ''] = /^(?:create|update|delete|upsert)(\w+)$/.exec(field) ?? []
    return hiddenRecords.includes(
      longestName(records.filter((name) => typeName.startsWith(name))) ?? '',
    )
  }
  if (hiddenRecords.length === 0 && [...hidden.values()].every(({ length }) => length === 0))
    return [...definitions]
  return definitions
    .filter(({ name }) => !isHiddenType(name))
    .map(({ name, text }) => {
      const hiddenFields = hidden.get(ownerOf(name) ?? '')
      const names = new Set(
        hiddenFields === undefined || hiddenFields === 'all'
          ? []
          : hiddenFields.flatMap(fieldNameVariants),
      )
      const visibleFields = fieldsOf(text).filter((field) => {
        const [fieldName = ''] = /\w+/.exec(field) ?? []
        return !(
          names.has(normalizeName(fieldName)) ||
          isHiddenRootField(fieldName) ||
          typeNamesIn(field).some(isHiddenType)
        )
      })
      const [head] = withoutDescriptions(text).split('{')
      return fieldsOf(text).length === visibleFields.length
        ? { name, text }
        : { name, text: `${head ?? ''}{\n${visibleFields.join('')}}` }
    })
}

function longestName(names: readonly string[]): string | undefined {
  return [...names].sort((one, other) => other.length - one.length)[0]
}

function readDefinitions(sdl: string): TypeDefinition[] {
  return sdl
    .split(/\n\n(?=(?:"""|type|input|enum|scalar|interface|union|directive)\b|""")/)
    .map((text) => ({
      name: /^(?:type|input|enum|scalar|interface|union|directive) @?(\w+)/m.exec(text)?.[1] ?? '',
      text,
    }))
}

/** Each field with its arguments, which may span several lines. */
function fieldsOf(text: string): string[] {
  return withoutDescriptions(text).match(/^ {2}\w[\s\S]*?\n(?= {2}\w|\})/gm) ?? []
}

/** The names of types, which begin with a capital. */
function typeNamesIn(text: string): string[] {
  return text.match(/\b[A-Z]\w*/g) ?? []
}

/** `TicketWhere` belongs to `Ticket`. */
function belongsToRecord(type: string, record: string): boolean {
  return type === record || (type.startsWith(record) && /^[A-Z]/.test(type.slice(record.length)))
}

function withoutDescriptions(text: string): string {
  return text.replace(/^[ ]*"""[\s\S]*?"""\n/gm, '').replace(/\n{2,}/g, '\n')
}
