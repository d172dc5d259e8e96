/**
 * The names of tables in queries of Kysely. In an engine without schemas, the record's table `billing.orders` is called
 * `billing_orders`.
 */
import type { RootOperationNode } from 'kysely'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Table } from '../model/table.js'

interface TableSource {
  tables(): ReadonlySet<Table>
}

export class TableNames {
  readonly #dialect: Dialect
  readonly #source: TableSource
  /** The names of tables whose names differ in the engine, by these names. */
  readonly #recordNames = new Map<string, string>()
  /** The number of tables whose names are known. */
  #size = 0

  constructor(dialect: Dialect, source: TableSource) {
    this.#dialect = dialect
    this.#source = source
  }

  /** @returns the record's name of a table, by which changes are reported */
  recordNameOf(name: string): string {
    return this.#names().get(name) ?? name
  }

  /** Gives the tables of records their names in the engine. Other schemas stay: an attached database is one. */
  rename<T extends RootOperationNode>(query: T): T {
    if (this.#names().size === 0 || !namesSchema(query)) return query
    const renamed = new Set(this.#recordNames.values())
    return this.#replace(query, renamed) as T
  }

  #replace(node: unknown, renamed: ReadonlySet<string>): unknown {
    // Values stay the same objects.
    if (!namesSchema(node)) return node
    if (Array.isArray(node)) return node.map((one) => this.#replace(one, renamed))
    const { kind, schema, identifier } = node as SchemableNode
    if (kind === 'SchemableIdentifierNode') {
      const name = `${schema?.name ?? ''}.${identifier.name}`
      if (!renamed.has(name)) return node
      return { kind, identifier: { ...identifier, name: this.#dialect.tables.nameOf(name) } }
    }
    const parts = Object.entries(node as object)
    return Object.fromEntries(parts.map(([name, part]) => [name, this.#replace(part, renamed)]))
  }

  #names(): ReadonlyMap<string, string> {
    const tables = this.#source.tables()
    if (tables.size === this.#size) return this.#recordNames
    this.#size = tables.size
    for (const { name, relations } of tables) {
      this.#add(name)
      for (const { join } of relations.values()) if (join !== undefined) this.#add(join.name)
    }
    return this.#recordNames
  }

  #add(name: string): void {
    const engineName = this.#dialect.tables.nameOf(name)
    if (engineName !== name) this.#recordNames.set(engineName, name)
  }
}

interface SchemableNode {
  readonly kind?: string
  readonly schema?: { readonly name: string }
  readonly identifier: { readonly name: string }
}

function namesSchema(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false
  const { kind, schema } = node as SchemableNode
  if (kind === 'SchemableIdentifierNode') return schema !== undefined
  return Object.values(node).some(namesSchema)
}
