/** The change history: its record, and the hooks that add entries in the transaction of the write. */

import {
  AfterWrite,
  addRecords,
  BeforeDelete,
  describeRecord,
  Field,
  Record,
  type DeleteContext,
  type HookCaller,
  type WriteContext,
} from '../../index.js'

/** One field of a change. */
export interface FieldChange {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

export const entryKinds = ['create', 'update', 'delete', 'restore', 'action'] as const

/**
 * A change of a row whose record has `@Admin({ history: true })`. REST, GraphQL and program writes add entries in their own
 * transaction. Hidden fields are never included. Clients read entries through the page's history only, which checks their rights.
 * The program reads them with `database.records(AdminEntry)`.
 */
@Record<AdminEntry>({
  table: 'admin_entries',
  writes: false,
  subscriptions: false,
  rows: () => false,
  indexes: [{ fields: ['record', 'row', '-id'] }, { fields: ['record', '-id'] }],
})
export class AdminEntry {
  @Field('id') id!: number
  /** The class of the row: `Ticket`. */
  @Field('string', { maxLength: 200 }) record!: string
  /** The row's key as text: of several fields, the JSON list of their values. */
  @Field('string', { maxLength: 400 }) row!: string
  @Field('datetime') at!: string
  /** The claim `sub` of the caller, or `key`, `program`, `anonymous`. */
  @Field('string') by!: string
  @Field('string', { oneOf: [...entryKinds] }) kind!: (typeof entryKinds)[number]
  /** The label of the action. */
  @Field('string', { nullable: true }) action!: string | null
  /** `[{ field, from, to }]` */
  @Field('json') changes!: readonly FieldChange[]
}

type RecordRow = Readonly<Record<string, unknown>>
type Records = WriteContext['records']
type RecordClass = Parameters<typeof addRecords>[0]

/** Longer texts are cut, because the history is not a backup. */
const maxTextLength = 2000

/** The name of the hook that adds entries after a write. */
export const historyHook = 'keepsWriteInHistory'

/** Adds an entry for each write of a record. */
export function recordHistory(type: RecordClass): void {
  addRecords(type, [AdminEntry])
  addHook(type, historyHook, AfterWrite() as MethodDecorator, recordWrite)
  addHook(type, 'keepsDeletionInHistory', BeforeDelete() as MethodDecorator, recordDeletion)
}

function addHook(type: RecordClass, name: string, hook: MethodDecorator, run: unknown): void {
  const prototype = type.prototype as object
  Object.defineProperty(prototype, name, { value: run, configurable: true, writable: true })
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name)
  hook(prototype, name, descriptor as never)
}

/** `@AfterWrite` hook. `this` is the stored row. */
async function recordWrite(this: RecordRow, context: WriteContext): Promise<void> {
  const { before, changed, records } = context
  const previous = before as RecordRow | null
  const fields = recordedFields(this, records)
  const { deletedAt } = records(this.constructor as RecordClass).table
  const isRestored =
    deletedAt !== undefined &&
    changed.has(deletedAt.property) &&
    typeof previous?.[deletedAt.property] === 'string'
  const changes = [...changed]
    .filter((name) => fields.names.has(name))
    .map((name) => toChange(name, previous?.[name], this[name]))
  if (previous !== null && changes.length === 0 && !isRestored) return
  const kind = previous === null ? 'create' : isRestored ? 'restore' : 'update'
  await addEntry(this, context, { kind, changes })
}

/** `@BeforeDelete` hook. `this` is the row before the deletion. */
async function recordDeletion(this: RecordRow, context: DeleteContext): Promise<void> {
  const { names } = recordedFields(this, context.records)
  const changes = [...names]
    .filter((name) => (this[name] ?? null) !== null)
    .map((name) => toChange(name, this[name], null))
  await addEntry(this, context, { kind: 'delete', changes })
}

interface NewEntry {
  readonly kind: AdminEntry['kind']
  readonly action?: string
  readonly changes: readonly FieldChange[]
}

/** Adds an entry about a row. */
export async function addEntry(
  row: object,
  context: Pick<HookCaller, 'caller' | 'by'> & { readonly records: Records },
  { kind, changes, action = null as never }: NewEntry,
): Promise<void> {
  const type = row.constructor as RecordClass
  const key = describeRecord(type)?.key
  await context.records(AdminEntry).create({
    record: type.name,
    row: String(key?.of(row)),
    at: new Date().toISOString(),
    by: actorOf(context),
    kind,
    action,
    changes,
  })
}

function actorOf({ caller, by }: Pick<HookCaller, 'caller' | 'by'>): string {
  return caller?.sub ?? (by === 'token' ? 'anonymous' : by)
}

/** The fields that are recorded: not hidden, and not the key, version or timestamps of the record. */
function recordedFields(row: object, records: Records): { names: ReadonlySet<string> } {
  const type = row.constructor as RecordClass
  const { columns, key, version, updatedAt, deletedAt } = records(type).table
  const excluded = [key, ...(key.parts ?? []), version, updatedAt, deletedAt]
  const recorded = columns.filter((column) => !column.field.hidden && !excluded.includes(column))
  return { names: new Set(recorded.map(({ property }) => property)) }
}

function toChange(field: string, from: unknown, to: unknown): FieldChange {
  return { field, from: toStored(from), to: toStored(to) }
}

function toStored(value: unknown): unknown {
  if (value === undefined || value === null) return null
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string' && value.length > maxTextLength)
    return `${value.slice(0, maxTextLength)}…`
  return value
}
