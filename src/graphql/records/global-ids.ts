/**
 * Ids that say what they are of: `Product:7` as base64, by which a client reads any record again without knowing its query.
 * Source: GraphQL Server Specification of Relay, Object Identification; decisions, GraphQL.
 */
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../../records/model/table.js'

/** What a global id says. */
export interface GlobalId {
  /** The GraphQL type, which is the class's name. */
  readonly type: string
  /** The record's own key, as text. */
  readonly id: string
}

/** The id that clients see of a record where `graphql: { relay: true }`: `toGlobalId('Product', 7)`. */
export function toGlobalId(type: string, id: string | number): string {
  return Buffer.from(`${type}:${id}`).toString('base64')
}

/** Takes an id of `toGlobalId` apart, in resolvers that are given one; `undefined` for what is none. */
export function fromGlobalId(globalId: unknown): GlobalId | undefined {
  if (typeof globalId !== 'string') return undefined
  const bytes = Buffer.from(globalId, 'base64')
  // One text for one id: base64 reads others too, with spaces in them, say.
  if (bytes.toString('base64') !== globalId) return undefined
  const [, type, id] = /^(\w+):(.+)$/s.exec(bytes.toString()) ?? []
  return type === undefined || id === undefined ? undefined : { type, id }
}

/** How a record's keys look outside. */
export interface IdForm {
  /** The type that global ids name; `undefined` where keys are shown as they are. */
  readonly type: string | undefined
  /** The key, or its text; `undefined` for what is no id of this type. */
  read(id: unknown): unknown
  write(key: unknown): unknown
}

export const plainIds: IdForm = Object.freeze({
  type: undefined,
  read: (id: unknown) => id,
  write: (key: unknown) => key,
})

export function globalIds(type: string): IdForm {
  return Object.freeze({
    type,
    read: (id: unknown) => {
      const found = fromGlobalId(id)
      return found?.type === type ? found.id : undefined
    },
    write: (key: unknown) => toGlobalId(type, key as string | number),
  })
}

/** The columns that hold keys of records, whichever side says so, with the types of these records. */
export function keyColumns(tables: readonly Table[]): ReadonlyMap<Column, string> {
  const columns = new Map<Column, string>()
  for (const table of tables) {
    columns.set(table.key, table.type.name)
    for (const { kind, local, foreign, target } of table.relations.values()) {
      if (kind === 'belongsTo') columns.set(local, target.type.name)
      if (kind === 'hasMany') columns.set(foreign, table.type.name)
    }
  }
  return columns
}
