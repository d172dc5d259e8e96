/**
 * `schema.postgres.json`: the schema after an engine's migrations, stored next to them for developers who use another
 * engine.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DeclarationError } from '../../errors/declaration-error.js'
import type {
  ActualColumn,
  ActualForeignKey,
  ActualIndex,
  Catalogue,
  IndexSchema,
  TableSchema,
} from '../../engines/contract/table-schema.js'
import { indexCondition, writeIndex } from '../../engines/contract/ddl.js'
import { toKnownType } from '../schema/column-types.js'
import type { EngineName } from './migration-files.js'

/** By table. */
type Snapshot = Readonly<Record<string, SnapshotTable>>

interface SnapshotTable {
  readonly primaryKey: readonly string[]
  readonly columns: readonly ActualColumn[]
  readonly indexes: readonly (ActualIndex & { readonly name: string })[]
  readonly foreignKeys: readonly ActualForeignKey[]
  /** Their SQL by their names. */
  readonly checks: Readonly<Record<string, string>>
  readonly leftBy?: string | undefined
}

/** The catalogue of a database whose tables fit the records. */
export function toCatalogue(schemas: readonly TableSchema[]): Catalogue {
  return new Map(
    schemas.map(({ name, columns, indexes, foreignKeys, primaryKey }) => [
      name,
      {
        name,
        columns: new Map(columns.map((column) => [column.name, toActual(column)])),
        indexes: new Map(indexes.map((index) => [index.name, toActualIndex(name, index)])),
        foreignKeys,
        primaryKey,
        checks: new Map(columns.flatMap(({ check }) => (check ? [[check.name, check.sql]] : []))),
      },
    ]),
  )
}

function toActual(column: TableSchema['columns'][number]): ActualColumn {
  const { name, nullable, increment, preset } = column
  const optional = nullable || increment || preset !== undefined
  const type = toKnownType(column)
  return { name, type, sql: column.type, nullable, optional, preset, increment }
}

function toActualIndex(table: string, index: IndexSchema): ActualIndex {
  const { columns, unique } = index
  return { columns, unique, where: indexCondition(index), create: writeIndex(table, index) }
}

/**
 * @returns `undefined` if there is no such file
 * @throws {DeclarationError} `MIGRATION_FAILED` for a file that cannot be read, e.g. with a merge conflict in it
 */
export async function readSnapshot(
  folder: string,
  engine: EngineName,
): Promise<Catalogue | undefined> {
  const file = join(folder, toName(engine))
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  try {
    const tables = Object.entries(JSON.parse(text) as Snapshot)
    return new Map(
      tables.map(([name, { columns, indexes, foreignKeys, primaryKey, checks, leftBy }]) => [
        name,
        {
          name,
          columns: new Map(columns.map((column) => [column.name, column])),
          indexes: new Map(indexes.map(({ name: index, ...rest }) => [index, rest])),
          foreignKeys,
          primaryKey,
          checks: new Map(Object.entries(checks)),
          leftBy,
        },
      ]),
    )
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `${file} cannot be read: ${reason}.`
    const remedy = 'Resolve the conflict in it, or restore it from version control.'
    const error = new DeclarationError([{ code: 'MIGRATION_FAILED', message, remedy }])
    error.cause = cause
    throw error
  }
}

/** @returns the file's path */
export async function writeSnapshot(
  folder: string,
  engine: EngineName,
  catalogue: Catalogue,
): Promise<string> {
  const tables = [...catalogue.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  const snapshot: Snapshot = Object.fromEntries(
    tables.map(({ name, columns, indexes, foreignKeys, primaryKey = [], checks, leftBy }) => [
      name,
      {
        primaryKey,
        columns: [...columns.values()],
        indexes: [...indexes].map(([index, rest]) => ({ name: index, ...rest })),
        foreignKeys,
        checks: Object.fromEntries(checks ?? []),
        leftBy,
      },
    ]),
  )
  const file = join(folder, toName(engine))
  await writeFile(file, `${JSON.stringify(snapshot, null, 2)}\n`)
  return file
}

function toName(engine: EngineName): string {
  return `schema.${engine}.json`
}
