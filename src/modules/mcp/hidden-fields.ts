/**
 * Removes fields of records that a caller may not read from the descriptions that it receives: names of secured fields
 * are not visible. Source: decisions, Records: access rules.
 */
import {
  describeRecord,
  recordsAs,
  type ApplicationState,
  type Class,
  type CallerRecords,
  type HttpRequest,
} from '../../index.js'
import type { EntryView } from './access-list.js'
import { isJsonObject, type JsonObject } from './protocol.js'
import type { RouteTool } from './tool-schema.js'

/** The fields and relations of a record that the caller may not read, or all of it. */
export type HiddenFields = readonly string[] | 'all'

/**
 * The fields that the caller may not read, one entry for each record.
 *
 * @param addHidden adds names of other members, such as methods
 */
export async function readHiddenFields(
  { database }: ApplicationState,
  types: readonly Class[],
  request: HttpRequest,
  addHidden?: (type: Class, records: CallerRecords) => Promise<readonly string[]>,
): Promise<ReadonlyMap<string, HiddenFields>> {
  const hiddenByRecord = new Map<string, HiddenFields>()
  for (const type of types) {
    const description = describeRecord(type)
    if (database === undefined || description === undefined) continue
    const records = recordsAs(database, type as new () => object, request)
    const { may, fields, relations } = await records.rights()
    if (!may.read) {
      hiddenByRecord.set(type.name, 'all')
      continue
    }
    const visibleNames = new Set([...fields, ...relations].map(({ name }) => name))
    const names = [...description.fields, ...description.relations].map(({ name }) => name)
    const hidden = names.filter((name) => !visibleNames.has(name))
    hiddenByRecord.set(type.name, [...hidden, ...((await addHidden?.(type, records)) ?? [])])
  }
  return hiddenByRecord
}

/** The names of a field and of its aggregates: `sumPrice`. */
export function fieldNameVariants(field: string): string[] {
  return ['', 'sum', 'avg', 'min', 'max'].map((prefix) => normalizeName(prefix + field))
}

/** GraphQL uses camel case; property names may have underscores. */
export function normalizeName(name: string): string {
  return name.replaceAll('_', '').toLowerCase()
}

/** @returns undefined if no tool names a field that only some callers may read */
export function createCallerView(
  tools: readonly RouteTool[],
  state: ApplicationState,
): ((request: HttpRequest) => Promise<EntryView<RouteTool>>) | undefined {
  const secured = state.records.filter((type) => (describeRecord(type)?.secured.length ?? 0) > 0)
  const named = secured.filter((type) => tools.some((tool) => mayName(tool, type, state.records)))
  if (named.length === 0) return undefined
  return async (request) => {
    const hidden = await readHiddenFields(state, named, request)
    return {
      key: JSON.stringify([...hidden]),
      describe: ({ description, route }) =>
        withoutHiddenFields(description, route.record, { hidden, records: state.records }),
    }
  }
}

function mayName(
  { description, route }: RouteTool,
  type: Class,
  records: readonly Class[],
): boolean {
  if (route.record === type) return true
  const { inputSchema, outputSchema } = description
  return [inputSchema, outputSchema]
    .flatMap((schema) => Object.keys(definitionsOf(schema)))
    .some((name) => recordOfDefinition(name, records) === type)
}

/**
 * The entry of `tools/list` without hidden fields: no arguments, properties or texts name them.
 *
 * @param names fields of records that the caller cannot read at all stay visible, because the caller may create rows
 */
function withoutHiddenFields(
  description: JsonObject,
  record: Class | undefined,
  names: HiddenNames,
): JsonObject {
  const hiddenArguments = record === undefined ? [] : namesOf(names.hidden.get(record.name))
  const { inputSchema, outputSchema } = description
  const { description: text, ...entry } = description
  return {
    ...entry,
    ...(hiddenArguments.length > 0
      ? describedBy(text, wordOf(hiddenArguments))
      : { description: text }),
    inputSchema: withoutUnusedDefinitions(
      withoutArguments(withoutProperties(inputSchema, names), hiddenArguments),
    ),
    ...(outputSchema !== undefined && {
      outputSchema: withoutUnusedDefinitions(
        withoutMembers(withoutProperties(outputSchema, names), hiddenArguments),
      ),
    }),
  }
}

interface HiddenNames {
  readonly hidden: ReadonlyMap<string, HiddenFields>
  /** All records of the application, which definitions are named after. */
  readonly records: readonly Class[]
}

function namesOf(hidden: HiddenFields | undefined): readonly string[] {
  return hidden === undefined || hidden === 'all' ? [] : hidden
}

function definitionsOf(schema: unknown): JsonObject {
  return isJsonObject(schema) && isJsonObject(schema.$defs) ? schema.$defs : {}
}

/**
 * Finds the record that a definition describes by its name: `Ticket`, `TicketInput` and `Ticket_create` describe
 * `Ticket`; `TeamTicketsCreateInput` describes the target of the relation `tickets` of `Team`.
 */
function recordOfDefinition(name: string, records: readonly Class[]): Class | undefined {
  for (const record of records.filter((one) => name.startsWith(one.name))) {
    const found = followRelations(record, name.slice(record.name.length))
    if (found !== undefined) return found
  }
  return undefined
}

function followRelations(record: Class, rest: string): Class | undefined {
  if (/^(?:_\w*)?(?:Create|Update|Loose)?(?:Input)?$/.test(rest)) return record
  for (const { name, target } of describeRecord(record)?.relations ?? []) {
    const part = name.charAt(0).toUpperCase() + name.slice(1)
    const found = rest.startsWith(part)
      ? followRelations(target, rest.slice(part.length))
      : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** Removes hidden fields from the definitions of a schema. */
function withoutProperties(schema: unknown, { hidden, records }: HiddenNames): JsonObject {
  if (!isJsonObject(schema)) return {}
  if (schema.$defs === undefined) return schema
  const definitions = Object.entries(definitionsOf(schema)).map(([name, definition]) => {
    const record = recordOfDefinition(name, records)
    const names = record === undefined ? [] : namesOf(hidden.get(record.name))
    return [name, withoutMembers(definition, names)]
  })
  return { ...schema, $defs: Object.fromEntries(definitions) as JsonObject }
}

/** Removes the definitions that nothing refers to any more. */
function withoutUnusedDefinitions(schema: JsonObject): JsonObject {
  if (schema.$defs === undefined) return schema
  const root = Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$defs'))
  const all = definitionsOf(schema)
  const used = new Set(referencesIn(root))
  // The set grows during the loop.
  for (const name of used) for (const other of referencesIn(all[name])) used.add(other)
  const definitions = Object.entries(all).filter(([name]) => used.has(name))
  return definitions.length === 0 ? root : { ...root, $defs: Object.fromEntries(definitions) }
}

function referencesIn(schema: unknown): string[] {
  const text = JSON.stringify(schema ?? null)
  return [...text.matchAll(/"#\/\$defs\/([\w.-]+)"/g)].map(([, name = '']) => name)
}

/** Removes properties with these names, and the relation counts of them. */
function withoutMembers(schema: unknown, names: readonly string[]): JsonObject {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties) || names.length === 0)
    return isJsonObject(schema) ? schema : {}
  const hiddenNames = new Set(names.flatMap((name) => [name, `${name}Count`]))
  return withProperties(schema, ([name]) => !hiddenNames.has(name))
}

/** Removes the filters and values of hidden fields from the arguments of a route of `crud`. */
function withoutArguments(schema: JsonObject, names: readonly string[]): JsonObject {
  if (!isJsonObject(schema.properties) || names.length === 0) return schema
  const variants = new Set(names.flatMap(fieldNameVariants))
  const word = wordOf(names)
  const visible = withProperties(schema, ([name]) => {
    const [first = '', second = ''] = name.split('.')
    return !variants.has(normalizeName(first === 'having' && second !== '' ? second : first))
  })
  const properties = Object.entries(visible.properties as JsonObject).flatMap(
    ([name, property]) => {
      const cleaned = isJsonObject(property) ? withoutMentions(property, word, names) : property
      return isEmptyChoice(cleaned) ? [] : [[name, cleaned]]
    },
  )
  return { ...visible, properties: Object.fromEntries(properties) as JsonObject }
}

/** Matches each of the names, and the name of a relation's count. */
function wordOf(names: readonly string[]): RegExp {
  return new RegExp(`\\b(?:${names.map(escapePattern).join('|')})(?:Count)?\\b`)
}

/** Removes the sentences of the description and the values that name hidden fields. */
function withoutMentions(property: JsonObject, word: RegExp, names: readonly string[]): JsonObject {
  const { description, ...keywords } = property
  return {
    ...withoutValues(keywords, names),
    ...(isJsonObject(keywords.items) && { items: withoutValues(keywords.items, names) }),
    ...describedBy(description, word),
  }
}

function describedBy(description: unknown, word: RegExp): JsonObject {
  if (typeof description !== 'string') return {}
  const sentences = description.split(/(?<=\.) /).filter((sentence) => !word.test(sentence))
  return sentences.length === 0 ? {} : { description: sentences.join(' ') }
}

/** True for a choice without values. */
function isEmptyChoice(property: unknown): boolean {
  if (!isJsonObject(property)) return false
  const schema = isJsonObject(property.items) ? property.items : property
  return Array.isArray(schema.enum) && schema.enum.length === 0
}

function withoutValues(schema: JsonObject, names: readonly string[]): JsonObject {
  if (!Array.isArray(schema.enum)) return schema
  return { ...schema, enum: schema.enum.filter((value) => !names.includes(String(value))) }
}

function withProperties(
  { properties, required, ...schema }: JsonObject,
  keeps: (entry: [string, unknown]) => boolean,
): JsonObject {
  const visible = Object.fromEntries(Object.entries(properties as JsonObject).filter(keeps))
  const stillRequired = Array.isArray(required)
    ? required.filter((name) => Object.hasOwn(visible, String(name)))
    : []
  return {
    ...schema,
    properties: visible,
    ...(stillRequired.length > 0 && { required: stillRequired }),
  }
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}
