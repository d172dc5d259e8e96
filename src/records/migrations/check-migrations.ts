/** Checks without a database whether the migrations lead to the schema of the classes: for a build server. */
import type { Table } from '../model/table.js'
import { findDifferences } from '../schema/difference.js'
import { toSchema } from '../schema/schema.js'
import { chooseDialects, readBase, withoutSnapshot } from './migration-base.js'
import { readMigrations } from './migration-files.js'
import { isNeeded } from './migration-text.js'

export interface CheckOptions {
  readonly folder: string
  /** The names of the engines in use. Default: those that have migrations; if none has, all. */
  readonly engines: readonly string[] | undefined
}

/**
 * @returns a sentence for each difference: `PostgreSQL: product.price is missing (Product.price).`
 * @throws {DeclarationError} `MIGRATION_FAILED` if the schema after the migrations cannot be determined
 */
export async function checkMigrations(
  tables: Iterable<Table>,
  { folder, engines }: CheckOptions,
): Promise<string[]> {
  const all = [...tables]
  const found: string[] = []
  for (const dialect of chooseDialects(engines)) {
    const { files, engines: withFiles, missing } = await readMigrations(folder, dialect.name)
    const isUsed = engines !== undefined || withFiles.size === 0 || files.length > 0
    if (!isUsed) continue
    const base = await readBase(folder, dialect)
    if (base === undefined) throw withoutSnapshot(dialect)
    // The time only matters for values that existing rows are given.
    const differences = findDifferences(toSchema(all, dialect, 0), base, dialect, {
      isExact: dialect.replay === undefined,
    })
    const told = differences.filter((one) => isNeeded([one])).map(({ message }) => message)
    const lacking = missing.map((name) => `${name}.${dialect.name}.sql is missing.`)
    found.push(...[...told, ...lacking].map((message) => `${dialect.title}: ${message}`))
  }
  return found
}
