/** The hooks that keep history: they run in the transaction of the write, behind the hooks of the application. */

import {
  Field,
  Record,
  type DeleteContext,
  type HookCaller,
  type WriteContext,
} from '../../index.js'
import type { Class } from './declare.js'

/** The record of a change: who changed what in a row. Source: specification, Admin page 7. */

/** One field of a change. */
export interface FieldChange {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

export const entryKinds = ['create', 'update', 'delete', 'action'] as const

/**
 * A change of a row whose record says `@Admin({ history: true })`, written in the same transaction by every door. Hidden fields
 * are never in it. Clients read it by the page's history alone, which shows what its reader may read; the program reads it by
 * `database.records(AdminEntry)`.
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
  /** The row's key as text. */
  @Field('string', { maxLength: 64 }) row!: string
  @Field('datetime') at!: string
  /** The claim `sub` of who did it, or `key`, `program`, `anonymous`. */
  @Field('string') by!: string
  @Field('string', { oneOf: [...entryKinds] }) kind!: (typeof entryKinds)[number]
  /** The label of the action. */
  @Field('string', { nullable: true }) action!: string | null
  /** `[{ field, from, to }]` */
  @Field('json') changes!: readonly FieldChange[]
}

type Row = Readonly<Record<string, unknown>>
type Records = WriteContext['records']

/** Longer texts are cut: the history is to be read, not to restore from. */
const longestText = 2000

/** `@AfterWrite`: `this` is the row as stored. */
export async function keepWrite(this: Row, context: WriteContext): Promise<void> {
  const { before, changed, records } = context
  const was = before as Row | null
  const shown = shownFields(this, records)
  const changes = [...changed]
    .filter((name) => shown.names.has(name))
    .map((name) => toChange(name, was?.[name], this[name]))
  if (was !== null && changes.length === 0) return
  await keep(this, context, { kind: was === null ? 'create' : 'update', changes })
}

/** `@BeforeDelete`: `this` is the row as it is. */
export async function keepDeletion(this: Row, context: DeleteContext): Promise<void> {
  const { names } = shownFields(this, context.records)
  const changes = [...names]
    .filter((name) => (this[name] ?? null) !== null)
    .map((name) => toChange(name, this[name], null))
  await keep(this, context, { kind: 'delete', changes })
}

export interface Kept {
  readonly kind: AdminEntry['kind']
  readonly action?: string
  readonly changes: readonly FieldChange[]
}

/** Writes an entry about a row. */
export async function keep(
  row: object,
  context: Pick<HookCaller, 'caller' | 'by'> & { readonly records: Records },
  { kind, changes, action = null as never }: Kept,
): Promise<void> {
  const type = row.constructor as Class
  const { key } = context.records(type).table
  await context.records(AdminEntry).create({
    record: type.name,
    row: String((row as Row)[key.property]),
    at: new Date().toISOString(),
    by: nameOf(context),
    kind,
    action,
    changes,
  })
}

function nameOf({ caller, by }: Pick<HookCaller, 'caller' | 'by'>): string {
  return caller?.sub ?? (by === 'token' ? 'anonymous' : by)
}

/** What is neither hidden nor the record's own bookkeeping. */
function shownFields(row: object, records: Records): { names: ReadonlySet<string> } {
  const type = row.constructor as Class
  const { columns, key, version, updatedAt, deletedAt } = records(type).table
  const own = [key, version, updatedAt, deletedAt]
  const shown = columns.filter((column) => !column.field.hidden && !own.includes(column))
  return { names: new Set(shown.map(({ property }) => property)) }
}

function toChange(field: string, from: unknown, to: unknown): FieldChange {
  return { field, from: toKept(from), to: toKept(to) }
}

function toKept(value: unknown): unknown {
  if (value === undefined || value === null) return null
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'string' && value.length > longestText)
    return `${value.slice(0, longestText)}…`
  return value
}
