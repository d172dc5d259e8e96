/** What the page is told: records, fields and actions, as its caller may use them. Source: docs/maintainers/admin.md, Schema. */
import {
  describeFields,
  type FieldDescription,
  type RecordDescription,
  type RecordRights,
} from '../../index.js'
import { AdminAction, readAdmin, type Class } from './declare.js'
import { isToOne } from './options.js'

type Json = Record<string, unknown>

/** How many columns a list has where nothing says so. */
const usualColumns = 6
const usualTitles = ['title', 'name', 'subject', 'label']
const deepest = 3

/** @param mayCall the actions that the caller may run, by method */
export function writeRecord(
  rights: RecordRights,
  shown: ReadonlySet<Class>,
  mayCall: ReadonlySet<string>,
): Json {
  const { type, plural, key, version, fields, relations, may, search } = rights
  const { group, help, history } = readAdmin(type)
  const tied = relations.filter(({ target }) => shown.has(target))
  const pickers = new Map(tied.filter(isToOne).map(({ by, name }) => [by, name]))
  const { key: keyField } = rights
  return sparse({
    name: type.name,
    path: plural,
    label: toWords(plural),
    one: toWords(type.name),
    group,
    help,
    key: keyField.name,
    keyKind: key.kind === 'uuid' ? 'uuid' : 'int',
    title: titleOf(rights),
    list: columnsOf(rights, shown),
    can: (may.create ? 'c' : '') + (may.update ? 'u' : '') + (may.delete ? 'd' : ''),
    version,
    search: search.length > 0,
    history: history === true,
    fields: fields.map((field) =>
      sparse({ ...writeField(field, 0), by: pickers.get(field.name), order: field.ordered }),
    ),
    relations: tied.map(({ name, kind, target, by, ids, owned }) => {
      const field = fields.find((one) => one.name === by)
      return sparse({
        name,
        kind: kinds[kind],
        to: target.name,
        by,
        ids,
        required: kind === 'belongsTo' && field?.required === true,
        nested: owned,
      })
    }),
    actions: [...AdminAction.read(type)]
      .filter(([name]) => mayCall.has(name))
      .map(([name, [{ label, bulk, body }]]) =>
        sparse({
          name,
          label,
          bulk: bulk === true,
          fields: body && describeFields(body).map((field) => sparse(writeField(field, 1))),
        }),
      ),
  })
}

/**
 * The records with each field by its name, and what fields are once for all that are alike: keys, moments and names stand in most
 * records, and the schema of sixty has to stay small.
 */
export function shareFields(records: readonly Json[]): { fields: Json[]; records: Json[] } {
  const places = new Map<string, number>()
  const fields: Json[] = []
  const placeOf = ({ name: _, ...field }: Json): number => {
    const text = JSON.stringify(field)
    const place = places.get(text)
    if (place !== undefined) return place
    places.set(text, fields.push(field) - 1)
    return fields.length - 1
  }
  const shared = records.map((record) => {
    const own = record.fields as Json[]
    return { ...record, fields: own.map((field) => [field.name, placeOf(field)]) }
  })
  return { fields, records: shared }
}

/** The field that names a row. */
export function titleOf({ type, key, fields }: RecordDescription): string {
  const { title } = readAdmin(type)
  const names = fields.filter(({ list }) => !list).map(({ name }) => name)
  if (title !== undefined) return names.includes(title) ? title : key.name
  return usualTitles.find((name) => names.includes(name)) ?? key.name
}

function columnsOf(rights: RecordRights, shown: ReadonlySet<Class>): string[] {
  const { type, fields, relations, key } = rights
  const { list } = readAdmin(type)
  const own = fields.map(({ name }) => name)
  const ones = relations.filter((one) => isToOne(one) && shown.has(one.target))
  if (list !== undefined)
    return list.filter((name) => own.includes(name) || ones.some((one) => one.name === name))
  const by = new Map(ones.map((one) => [one.by, one.name]))
  const title = titleOf(rights)
  const others = fields
    .filter(({ kind, name }) => !unlisted.has(kind) && name !== title && name !== key.name)
    .map(({ name }) => by.get(name) ?? name)
  return [title, ...others].slice(0, usualColumns)
}

/** Too long for a column. */
const unlisted: ReadonlySet<string> = new Set(['text', 'json', 'class', 'blob'])

const kinds = { belongsTo: 'one', hasMany: 'many', manyToMany: 'ties' } as const

function writeField(field: FieldDescription, depth: number): Json {
  const { name, kind, list, required, nullable, writable, rules, nested } = field
  const { oneOf, min, max, minLength, maxLength, pattern, description } = rules
  const { default: otherwise } = rules
  return {
    name,
    kind,
    list,
    required,
    nullable,
    readOnly: !writable,
    oneOf,
    min,
    max,
    minLength,
    maxLength,
    pattern: pattern instanceof RegExp ? pattern.source : pattern,
    default: typeof otherwise === 'function' ? undefined : otherwise,
    fields:
      nested === undefined || depth >= deepest
        ? undefined
        : describeFields(nested).map((one) => sparse(writeField(one, depth + 1))),
    help: description,
  }
}

/** Without what is false, undefined or an empty list. */
function sparse(whole: Json): Json {
  const kept = Object.entries(whole).filter(([name, value]) => {
    if (name === 'default' || name === 'min' || name === 'max') return value !== undefined
    if (Array.isArray(value)) return value.length > 0
    return value !== undefined && value !== false && value !== 0 && value !== ''
  })
  return Object.fromEntries(kept)
}

/** `createdAt` → `Created at` */
function toWords(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
