/** Writes the files of pulled records next to those of earlier runs, which are kept or replaced. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compareRecords } from './compare-records.js'
import type { ExistingRecord } from './existing-records.js'
import { tableName, type ClassFile, type PulledRecord } from './pulled-record.js'
import { writeIndex, writeRecord } from './write-source.js'

export interface FileChanges {
  /** Names of files that are new or replaced. */
  readonly written: readonly string[]
  /** Sentences about files that differ and were left as they are. */
  readonly differences: readonly string[]
}

export interface WriteOptions {
  readonly folder: string
  readonly existing: readonly ExistingRecord[]
  /** Tables that exist, also those that are not selected. */
  readonly tableNames: ReadonlySet<string>
  /** Writes nothing: a new file counts as a difference. */
  readonly isCheck: boolean
  /** Replaces files that differ. */
  readonly overwrites: boolean
}

export async function writeFiles(
  records: readonly PulledRecord[],
  options: WriteOptions,
): Promise<FileChanges> {
  const { folder, existing, tableNames, isCheck, overwrites } = options
  const texts = new Map<string, string>()
  const differences: string[] = []
  for (const record of records) {
    const file = `${record.fileName}.ts`
    const earlier = existing.find(({ table }) => table === tableName(record.table))
    const before = await read(join(folder, file))
    const found = earlier === undefined ? findNew(record, before) : compareRecords(record, earlier)
    const mayReplace = earlier?.isAlone ?? true
    if (before === undefined && earlier === undefined) texts.set(file, writeRecord(record))
    else if (overwrites && mayReplace && before !== writeRecord(record))
      texts.set(file, writeRecord(record))
    else differences.push(...found.map((text) => `${file}: ${text}`))
  }
  for (const { className, fileName, table } of existing)
    if (!tableNames.has(table))
      differences.push(`${fileName}.ts: ${className}: the database has no table ${table}.`)
  const index = await planIndex(records, options, texts.size > 0)
  if (index.text !== undefined) texts.set(indexFile, index.text)
  differences.push(...index.differences)
  if (isCheck)
    return {
      written: [],
      differences: [
        ...[...texts.keys()].map((file) => `${file}: not written yet.`),
        ...differences,
      ],
    }
  if (texts.size > 0) await mkdir(folder, { recursive: true })
  for (const [file, text] of texts) await writeFile(join(folder, file), text)
  return { written: [...texts.keys()], differences }
}

const indexFile = 'index.ts'
/** In the first line of an index that this command may replace. */
const indexMark = 'filigree pull'

/** A file that has no record of the table is not replaced. */
function findNew({ table, className }: PulledRecord, before: string | undefined): string[] {
  if (before === undefined) return []
  return [`the file exists and has no record of the table ${tableName(table)} (${className}).`]
}

async function planIndex(
  records: readonly PulledRecord[],
  { folder, existing, tableNames, overwrites }: WriteOptions,
  hasNewFiles: boolean,
): Promise<{ readonly text?: string; readonly differences: readonly string[] }> {
  const before = await read(join(folder, indexFile))
  const kept: ClassFile[] = existing.filter(({ table }) => tableNames.has(table))
  const names = new Map([...kept, ...records].map((one) => [one.className, one]))
  const text = writeIndex([...names.values()])
  if (before === text) return { differences: [] }
  const isOurs = before === undefined || before.split('\n')[0]?.includes(indexMark) === true
  if (overwrites || (isOurs && (before === undefined || hasNewFiles)))
    return { text, differences: [] }
  const missing = [...names.keys()].filter((name) => !new RegExp(`\\b${name}\\b`).test(before))
  return { differences: missing.map((name) => `${indexFile}: it does not export ${name}.`) }
}

async function read(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}
