/** Finds what differs between the records of a database and the records in the files of an earlier run. */
import { normalizeCode, type ExistingMember, type ExistingRecord } from './existing-records.js'
import {
  codeOf,
  tableName,
  toCode,
  type PulledField,
  type PulledRecord,
  type PulledRelation,
  type Setting,
} from './pulled-record.js'

/** @returns sentences, each with the class or the column at its beginning */
export function compareRecords(pulled: PulledRecord, existing: ExistingRecord): string[] {
  const { className } = existing
  const key = settingOf(pulled.settings, 'key')
  const table = tableName(pulled.table)
  return [
    ...(key === existing.settings.get('key')
      ? []
      : [
          `${className}: the key is ${key ?? 'the field of kind id'} in the database, and ${existing.settings.get('key') ?? 'the field of kind id'} in the file.`,
        ]),
    ...pulled.fields.flatMap((field) => {
      const member = existing.fields.get(field.column.name)
      if (member !== undefined) return compareField(className, field, member)
      return [`${table}.${field.column.name}: the class ${className} has no field for it.`]
    }),
    ...[...existing.fields].flatMap(([column, { property }]) =>
      pulled.fields.some((field) => field.column.name === column)
        ? []
        : [`${className}.${property}: the table ${table} has no column ${column}.`],
    ),
    ...pulled.relations.flatMap((relation) =>
      hasRelation(existing, relation)
        ? []
        : [
            `${className}: it has no relation to ${relation.target}, ${describeRelation(relation)}.`,
          ],
    ),
  ]
}

/** Options that the database decides. */
const compared = [
  ...['type', 'list', 'nullable', 'generated', 'precision', 'scale', 'oneOf', 'pattern'],
  ...['min', 'max', 'minLength', 'maxLength', 'unique', 'key'],
]

/** Options that people add. They differ only if the database has another value. */
const addable: ReadonlySet<string> = new Set([
  ...['oneOf', 'pattern', 'min', 'max', 'minLength', 'maxLength', 'unique', 'precision', 'scale'],
])

function compareField(className: string, field: PulledField, member: ExistingMember): string[] {
  const where = `${className}.${member.property}`
  const kind = textKind(toCode(field.kind))
  if (textKind(member.value) !== kind)
    return [`${where}: the kind is ${kind} in the database, and ${member.value} in the file.`]
  return compared.flatMap((name) => {
    const [expected, actual] = [settingOf(field.settings, name), member.settings.get(name)]
    const isAdded = expected === undefined && (actual === 'false' || addable.has(name))
    // The rows of a file of SQLite decide whether a field has this maximum.
    if (expected === actual || isAdded || expected === String(Number.MAX_SAFE_INTEGER)) return []
    return [
      `${where}: ${name} is ${expected ?? 'not set'} in the database, and ${actual ?? 'not set'} in the file.`,
    ]
  })
}

/** Both kinds of texts have the same columns. */
function textKind(kind: string): string {
  return kind === "'text'" ? "'string'" : kind
}

function settingOf(settings: readonly Setting[], name: string): string | undefined {
  const setting = settings.find(([one]) => one === name)
  return setting === undefined ? undefined : normalizeCode(codeOf(setting[1]))
}

/** The field decides, because people may rename a relation. */
function hasRelation({ relations }: ExistingRecord, relation: PulledRelation): boolean {
  const same = relations.filter(
    ({ decorator, value }) =>
      decorator === relation.kind && value === normalizeCode(`() => ${relation.target}`),
  )
  const by = byOf(relation.name, relation.kind, settingOf(relation.settings, 'by'))
  return same.some(
    ({ property, decorator, settings }) =>
      property === relation.name || byOf(property, decorator, settings.get('by')) === by,
  )
}

function byOf(name: string, kind: string, by: string | undefined): string | undefined {
  return by ?? (kind === 'BelongsTo' ? toCode(`${name}Id`) : undefined)
}

function describeRelation({ name, kind, target }: PulledRelation): string {
  return kind === 'HasMany'
    ? `@HasMany(() => ${target}) ${name}`
    : `@BelongsTo(() => ${target}) ${name}`
}
