/**
 * A rebuild of a table drops its indexes and triggers. The framework writes the indexes of records again. This runner does
 * the same for the indexes and triggers of the application, which the author of a migration may not know. It also finds
 * views that no longer work. Sources: SQLite, ALTER TABLE, section 7; DROP TABLE.
 */
import { DeclarationError } from '../../errors/declaration-error.js'
import type { Results, ResultKind, Runner, Values } from '../contract/engine.js'
import { EngineError } from '../contract/engine-error.js'
import { quote } from '../contract/quote.js'
import { splitBeforeDroppedTables } from '../contract/sql-script.js'
import { frameworkQuery, frameworkScript, type Statement } from '../contract/statement.js'
import type { MaybePromise } from '../../core/maybe-promise.js'

interface DroppedPart {
  readonly type: string
  readonly name: string
  readonly table: string
  readonly sql: string
}

export class DroppedParts implements Runner {
  readonly #runner: Runner
  /** Indexes and triggers of tables that a script drops, in the order of their creation. */
  readonly #parts: DroppedPart[] = []
  /** Tables that a script made again under the name of a dropped one. */
  readonly #rebuilt = new Set<string>()
  /** Views that worked before the first table was dropped. */
  #views: ReadonlySet<string> | undefined

  constructor(runner: Runner) {
    this.#runner = runner
  }

  async run<W extends ResultKind>(
    statement: Statement,
    values: Values,
    resultKind: W,
  ): Promise<Results[W]> {
    const { sql } = statement
    if (resultKind !== 'nothing' || !/\b(?:drop|rename)\b/i.test(sql))
      return this.#runner.run(statement, values, resultKind)
    for (const part of splitBeforeDroppedTables(sql, { nestedComments: false })) {
      await this.#readDropped(part)
      await this.#runner.run({ ...statement, sql: part }, values, 'nothing')
      for (const [, name = ''] of part.matchAll(renameTo)) this.#rebuilt.add(toKey(name))
    }
    return undefined as Results[W]
  }

  /**
   * Creates again what is missing.
   *
   * @throws {DeclarationError} `MIGRATION_FAILED` if that is not possible, or if a view no longer works
   */
  async restore(): Promise<void> {
    for (const { type, name, table, sql } of this.#parts) {
      if (!this.#rebuilt.has(toKey(table)) || (await this.#exists(type, name))) continue
      try {
        await this.#runner.run(frameworkScript(sql), [], 'nothing')
      } catch (error) {
        throw failed(
          error,
          `The ${type} ${name} of the table ${table} cannot be created again after the table was rebuilt`,
          `Drop it by a migration of your own that runs before: drop ${type} ${quote(name)}. Create it again afterwards if you need it.`,
        )
      }
    }
    for (const name of this.#views ?? []) {
      if (!(await this.#exists('view', name))) continue
      const error = await this.#errorOf(name)
      if (error === undefined) continue
      throw failed(
        error,
        `The view ${name} would no longer work`,
        `Drop it by a migration of your own that runs before: drop view ${quote(name)}. Create it again afterwards if you need it.`,
      )
    }
  }

  async #readDropped(script: string): Promise<void> {
    const [, name] = dropTable.exec(script) ?? []
    if (name === undefined) return
    this.#views ??= await this.#readViews()
    const rows = await this.#query(partsSql, [toName(name)])
    for (const [type, part, table, sql] of rows)
      this.#parts.push({
        type: String(type),
        name: String(part),
        table: String(table),
        sql: String(sql),
      })
  }

  async #readViews(): Promise<Set<string>> {
    const working = new Set<string>()
    for (const [name] of await this.#query(`select name from sqlite_schema where type = 'view'`))
      if ((await this.#errorOf(String(name))) === undefined) working.add(String(name))
    return working
  }

  /** @returns the error of a view that does not work */
  async #errorOf(view: string): Promise<EngineError | undefined> {
    try {
      await this.#query(`explain select * from ${quote(view)}`)
      return undefined
    } catch (error) {
      if (error instanceof EngineError) return error
      throw error
    }
  }

  async #exists(type: string, name: string): Promise<boolean> {
    const sql = 'select 1 from sqlite_schema where type = ? and name = ? collate nocase'
    return (await this.#query(sql, [type, name])).length > 0
  }

  #query(sql: string, values: Values = []): MaybePromise<Results['rows']> {
    return this.#runner.run(frameworkQuery(sql), values, 'rows')
  }
}

/** The parts of search indexes belong to records. */
const partsSql = `select type, name, tbl_name, sql from sqlite_schema
  where type in ('index', 'trigger') and sql is not null and tbl_name = ? collate nocase
    and name not glob 'filigree_search_*' order by type, rowid`

const named = '("(?:[^"]|"")+"|\\[[^\\]]+\\]|`[^`]+`|\\w+)'
const dropTable = new RegExp(
  `^drop\\s+table\\s+(?:if\\s+exists\\s+)?(?:main\\s*\\.\\s*)?${named}`,
  'i',
)
const renameTo = new RegExp(`\\brename\\s+to\\s+${named}`, 'gi')

/** `"a""b"` → `a"b` */
function toName(name: string): string {
  if (!/^["[`]/.test(name)) return name
  return name.slice(1, -1).replaceAll('""', '"')
}

function toKey(name: string): string {
  return toName(name).toLowerCase()
}

function failed(cause: unknown, what: string, remedy: string): unknown {
  if (!(cause instanceof EngineError)) return cause
  const message = `${what}: ${cause.message}.`
  const error = new DeclarationError([{ code: 'MIGRATION_FAILED', message, remedy }])
  error.cause = cause
  return error
}
