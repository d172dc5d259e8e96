/** Reads the tables of a database for `filigree pull`, without a way to change anything in it. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { silentLog } from '../../core/log.js'
import {
  addressOfFile,
  fileOfAddress,
  isLocalAddress,
  readOnlyAddress,
} from '../../engines/database-address.js'
import type { CatalogueTable } from '../../engines/contract/described-table.js'
import type { Engine } from '../../engines/contract/engine.js'
import { frameworkScript } from '../../engines/contract/statement.js'
import { openEngine } from '../../engines/engine-for-url.js'
import { withoutPasswords } from '../../core/secrets.js'
import { UsageError } from '../command.js'

/** @param address an address, or the path of a file @param cwd what paths are relative to */
export function toAddress(address: string, cwd: string): string {
  const url = /^[a-z][a-z0-9+.-]+:/i.test(address) ? address : addressOfFile(address)
  if (!isLocalAddress(url)) return url
  const file = fileOfAddress(url)
  if (file === undefined) throw new UsageError('a database in memory has no tables to read.')
  const path = resolve(cwd, file)
  if (!existsSync(path)) throw new UsageError(`there is no file ${file}.`)
  const [, parameters] = url.split(/(?=\?)/)
  return `${addressOfFile(path)}${parameters ?? ''}`
}

/**
 * The server refuses writes in the transaction. A file is opened read-only.
 *
 * @param schemas default: the schema that unqualified names refer to
 * @returns without the tables of this framework
 */
export async function readTables(
  address: string,
  schemas: readonly string[] | undefined,
): Promise<CatalogueTable[]> {
  const engine = await openEngine(readOnlyAddress(address), { log: silentLog })
  try {
    const tables = await describe(engine, schemas)
    return tables.filter(({ name }) => !name.startsWith('filigree_'))
  } finally {
    await engine.close()
  }
}

const readOnly = frameworkScript('set transaction read only')

async function describe(
  engine: Engine,
  schemas: readonly string[] | undefined,
): Promise<readonly CatalogueTable[]> {
  if (!engine.dialect.can.readOnlyTransactions) {
    if (schemas !== undefined)
      throw new UsageError(`${engine.dialect.product.title} has no schemas. Leave --schema out.`)
    return engine.schema.describe(engine)
  }
  const transaction = await engine.begin({ isolation: 'repeatable read' })
  try {
    await transaction.run(readOnly, [], 'nothing')
    return await engine.schema.describe(transaction, schemas)
  } finally {
    await transaction.rollback()
  }
}

/** @param patterns `order*`, `billing.*`, `!*_old`. A pattern without a dot is for the name without its schema */
export function selectTables(
  tables: readonly CatalogueTable[],
  patterns: readonly string[],
): CatalogueTable[] {
  const [wanted, unwanted] = [
    patterns.filter((pattern) => !pattern.startsWith('!')),
    patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1)),
  ]
  for (const pattern of [...wanted, ...unwanted])
    if (!tables.some((table) => matches(table, pattern)))
      throw new UsageError(`--tables: no table matches ${pattern}.`)
  return tables.filter(
    (table) =>
      (wanted.length === 0 || wanted.some((pattern) => matches(table, pattern))) &&
      !unwanted.some((pattern) => matches(table, pattern)),
  )
}

function matches(table: CatalogueTable, pattern: string): boolean {
  const text = pattern.includes('.') ? `${table.schema ?? 'public'}.${table.name}` : table.name
  const source = pattern
    .split('*')
    .map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, '\\$&'))
    .join('.*')
  return new RegExp(`^${source}$`, 'i').test(text)
}

/** @throws {UsageError} nothing was found */
export function checkFound(
  tables: readonly CatalogueTable[],
  schemas: readonly string[] | undefined,
  address: string,
): void {
  const where = withoutPasswords(address)
  if (tables.length > 0) return
  const names = schemas === undefined ? '' : ` in ${schemas.join(', ')}`
  throw new UsageError(
    `${where} has no tables${names} that this user may see. Name schemas by --schema.`,
  )
}
