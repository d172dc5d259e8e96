/** `filigree pull`: writes records for the tables of a database that exists. */
import { resolve } from 'node:path'
import { withoutPasswords } from '../../core/secrets.js'
import { defineCommand, flag, option, UsageError, type Terminal } from '../command.js'
import { countOf, toJson } from '../output.js'
import { readExistingRecords } from '../pull/existing-records.js'
import { makeRecords, type PulledDatabase } from '../pull/make-records.js'
import { tableName, type Remark } from '../pull/pulled-record.js'
import { checkFound, readTables, selectTables, toAddress } from '../pull/read-tables.js'
import { writeFiles, type FileChanges } from '../pull/write-files.js'

const defaultFolder = 'src/records'

export const pullCommand = defineCommand({
  group: 'Data',
  usage: 'filigree pull <database>',
  summary: 'writes records for the tables of a database that exists',
  description: `Reads the tables and views of a database (PostgreSQL 13 or later, or a file of SQLite), and writes a record for each, and
index.ts with the list of all. Nothing in the database changes. A second run writes only new tables, and prints what
differs from the existing files. The default database is DATABASE_URL.`,
  options: {
    schema: option('<names>', "schemas of PostgreSQL: public,billing. Default: the user's own"),
    tables: option('<patterns>', "only some tables: 'order*,!*_old'. Default: all"),
    out: option('<folder>', `the folder of the files. Default: ${defaultFolder}`),
    check: flag('writes nothing. The exit code is 1 if something differs'),
    overwrite: flag('replaces files that differ'),
    json: flag('prints { written, differences, leftOut, remarks, tables, views, columns }'),
  },
  examples: [
    'filigree pull postgres://user:password@host/shop',
    'filigree pull legacy.db --out src/legacy',
    "filigree pull --schema public,billing --tables '!*_old'",
    'filigree pull --check',
  ],
  run: async ({ values, positionals: [named] }, terminal) => {
    const { check, overwrite } = values
    if (check && overwrite) throw new UsageError('--check writes nothing. Leave --overwrite out.')
    const address = toAddress(named ?? addressOfEnvironment(), terminal.cwd)
    const schemas = readList(values.schema)
    const start = performance.now()
    const all = await readTables(address, schemas)
    checkFound(all, schemas, address)
    const tables = selectTables(all, readList(values.tables) ?? [])
    const out = values.out ?? defaultFolder
    const folder = resolve(terminal.cwd, out)
    const existing = await readExistingRecords(folder)
    const database = makeRecords(tables, new Map(existing.map((one) => [one.table, one])))
    const changes = await writeFiles(database.records, {
      folder,
      existing,
      tableNames: new Set(all.map(tableName)),
      isCheck: check,
      overwrites: overwrite,
    })
    const report = {
      ...toReport(database, changes),
      milliseconds: Math.round(performance.now() - start),
    }
    await (values.json
      ? terminal.out(toJson(report))
      : print(report, { out, database: withoutPasswords(address) }, terminal))
    return !check || report.differences.length === 0
  },
})

function addressOfEnvironment(): string {
  const address = process.env.DATABASE_URL?.trim()
  if (address !== undefined && address !== '') return address
  throw new UsageError('name the database: filigree pull postgres://user:password@host/shop.')
}

function readList(text: string | undefined): string[] | undefined {
  const names = text?.split(',').map((name) => name.trim())
  return names?.filter((name) => name !== '')
}

interface PullReport extends FileChanges {
  readonly leftOut: readonly Remark[]
  readonly remarks: readonly Remark[]
  readonly tables: number
  readonly views: number
  readonly columns: number
}

function toReport({ records, leftOut }: PulledDatabase, changes: FileChanges): PullReport {
  const remarks = [...leftOut, ...records.flatMap((record) => record.remarks)]
  const tables = records.filter(({ table }) => table.kind === 'table').length
  return {
    ...changes,
    leftOut: remarks.filter((remark) => remark.isLeftOut),
    remarks: remarks.filter((remark) => !remark.isLeftOut),
    tables,
    views: records.length - tables,
    columns: records.reduce((sum, { fields }) => sum + fields.length, 0),
  }
}

async function print(
  { written, differences, leftOut, remarks, tables, views, columns }: PullReport,
  { out, database }: { readonly out: string; readonly database: string },
  terminal: Terminal,
): Promise<void> {
  const found = [countOf(tables, 'table'), ...(views === 0 ? [] : [countOf(views, 'view')])]
  const lines = [
    `${database}: ${found.join(', ')}, ${countOf(columns, 'column')}.`,
    written.length === 0
      ? 'Nothing was written.'
      : `Written to ${out}: ${countOf(written.length, 'file')}.`,
    ...section('Differences', differences),
    ...section('Left out', leftOut.map(toLine)),
    ...section('Remarks', remarks.map(toLine)),
  ]
  await terminal.out(`${lines.join('\n')}\n`)
}

function toLine({ where, message }: Remark): string {
  return `${where} ${message}.`
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)]
}
