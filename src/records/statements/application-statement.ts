/**
 * What is known of the statements that an application builds with `database.kysely`: what its query says by its parts. SQL that
 * it writes out is unknown.
 */
import type { RootOperationNode } from 'kysely'
import {
  anyTable,
  concernsOwnTable,
  type Statement,
  type StatementKind,
} from '../../engines/contract/statement.js'

const kinds: Readonly<Record<string, StatementKind>> = {
  SelectQueryNode: 'select',
  InsertQueryNode: 'insert',
  UpdateQueryNode: 'update',
  DeleteQueryNode: 'delete',
}

/** @param query the query in Kysely's form */
export function applicationStatement(sql: string, query: RootOperationNode): Statement {
  const found = new Found(query)
  const kind = kindOf(query, found)
  const isKnown = kind !== 'unknown' && !found.writesOut
  const tables = isKnown ? found.tables : [...found.tables, anyTable]
  const statement = { sql, kind, tables, mayWait: true, for: 'program' } as const
  return concernsOwnTable(statement) ? { ...statement, for: 'ourselves' } : statement
}

function kindOf(query: RootOperationNode, { changes }: Found): StatementKind {
  const kind = kinds[query.kind] ?? 'unknown'
  if (kind === 'select' && changes) return 'unknown'
  return 'onConflict' in query && query.onConflict !== undefined ? 'upsert' : kind
}

/** Walks through the parts of a query. */
class Found {
  readonly tables: string[] = []
  /** A part may name tables that nobody knows. */
  writesOut = false
  /** A part changes something: `with changed as (update …)`. */
  changes = false

  constructor(query: RootOperationNode) {
    this.#walk(query)
  }

  #walk(node: unknown): void {
    if (Array.isArray(node)) {
      for (const one of node) this.#walk(one)
      return
    }
    if (typeof node !== 'object' || node === null) return
    const { kind } = node as { readonly kind?: unknown }
    if (typeof kind !== 'string') return
    // It may name an alias.
    if (kind === 'ReferenceNode') return
    if (kind === 'TableNode') this.#note(node as TableNode)
    else if (kind === 'RawNode') this.writesOut = true
    else if (kinds[kind] !== undefined && kind !== 'SelectQueryNode') this.changes = true
    // The direction of an order is written out by Kysely itself.
    for (const [name, part] of Object.entries(node)) if (name !== 'direction') this.#walk(part)
  }

  #note({ table: { identifier } }: TableNode): void {
    if (!this.tables.includes(identifier.name)) this.tables.push(identifier.name)
  }
}

interface TableNode {
  readonly table: { readonly identifier: { readonly name: string } }
}
