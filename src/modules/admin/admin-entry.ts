/** The record of a change: who changed what in a row. Source: specification, Admin page 7. */
import { Field, Record } from '../../index.js'

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
