/** `filigree copy`: copies all rows of one database into another one, perhaps of another engine, and compares them. */
import { existsSync } from 'node:fs'
import { isLocalAddress, readOnlyAddress } from '../../engines/database-address.js'
import { createDatabase } from '../../records/connect.js'
import {
  compareDatabases,
  copyDatabase,
  type CopyProgress,
  type CopyReport,
} from '../../records/copy/copy-database.js'
import type { TableComparison } from '../../records/copy/compare-tables.js'
import { maxDifferences, type RowDifference } from '../../records/copy/find-differences.js'
import type { Database } from '../../records/database.js'
import type { Class } from '../../metadata/class.js'
import { defineCommand, flag, moduleOption, type Terminal, UsageError } from '../command.js'
import { fileOf, loadApplication, planForDatabase, warningsTo } from '../load-application.js'
import { countOf, describeTime, toJson, toTable } from '../output.js'

export const copyCommand = defineCommand({
  group: 'Data',
  usage: 'filigree copy <source> <target>',
  summary: 'copies all rows into another database, perhaps of another engine',
  description: `Copies the rows of all records, of join tables and of the framework's own tables, and compares both databases at the
end. The source is read in one consistent state and never changed. The target needs the current schema (filigree migrate up)
and no rows. Hooks do not run. The exit code is 1 if a table differs. Rows that are written to the source meanwhile are not
copied, so stop the application first.`,
  options: {
    module: moduleOption,
    verify: flag('only compares the databases'),
    continue: flag('continues a copy that was interrupted'),
    json: flag('prints one JSON value'),
  },
  examples: [
    'filigree copy sqlite:data/app.db postgres://localhost/shop',
    'filigree copy sqlite:data/app.db postgres://localhost/shop --continue',
    'filigree copy postgres://localhost/shop sqlite:shop.db --verify',
  ],
  maxPositionals: 2,
  run: async ({ values, positionals: [source, target] }, terminal) => {
    if (source === undefined || target === undefined)
      throw new UsageError('name the addresses of both databases.')
    if (values.verify && values.continue)
      throw new UsageError('--verify only compares. Omit --continue.')
    checkAddresses(source, target, terminal)
    const application = await loadApplication(values.module, terminal)
    const { records } = await planForDatabase(application)
    const start = performance.now()
    const progress = new ProgressLines(terminal)
    const from = await open(readOnlyAddress(source), records, terminal)
    try {
      const to = await open(values.verify ? readOnlyAddress(target) : target, records, terminal)
      try {
        const run = values.verify ? compareDatabases : copyDatabase
        const report = await run({
          source: from,
          target: to,
          continues: values.continue,
          onProgress: (state) => {
            progress.show(state)
          },
        })
        const milliseconds = Math.round(performance.now() - start)
        return await print(
          report,
          { milliseconds, isCopy: !values.verify, json: values.json },
          terminal,
        )
      } finally {
        await to.close()
      }
    } finally {
      await from.close()
    }
  },
})

/** @throws {UsageError} the source does not exist, or both are the same database */
function checkAddresses(source: string, target: string, { cwd }: Terminal): void {
  const file = isLocalAddress(source) ? fileOf(source, cwd) : undefined
  if (file !== undefined && !existsSync(file))
    throw new UsageError(`the file ${file} does not exist.`)
  const isSame =
    file === undefined ? source === target : isLocalAddress(target) && fileOf(target, cwd) === file
  if (isSame) throw new UsageError('both addresses are of the same database.')
}

async function open(url: string, records: readonly Class[], terminal: Terminal): Promise<Database> {
  const database = await createDatabase({ url, records, log: warningsTo(terminal) })
  for (const record of records) database.table(record)
  return database
}

interface PrintOptions {
  readonly milliseconds: number
  readonly isCopy: boolean
  readonly json: boolean
}

/** @returns whether all tables are equal */
async function print(
  { tables, omissions }: CopyReport,
  { milliseconds, isCopy, json }: PrintOptions,
  { out, err }: Terminal,
): Promise<boolean> {
  const different = tables.filter(({ isEqual }) => !isEqual)
  if (json) {
    await out(toJson({ tables, omissions, milliseconds, isEqual: different.length === 0 }))
    return different.length === 0
  }
  // Most of the framework's own tables are empty.
  const listed = tables.filter(
    ({ name, source }) => source.rows > 0 || !name.startsWith('filigree_'),
  )
  const rows = listed.map(({ name, source }) => [name, countOf(source.rows, 'row'), source.hash])
  await out(toTable(rows))
  await err(omissions.map((omission) => `note: ${omission}\n`).join(''))
  if (different.length > 0) {
    await err(different.map((one) => `${describeDifference(one)}\n`).join(''))
    return false
  }
  const count = countOf(tables.length, 'table')
  const sum = tables.reduce((total, { target }) => total + target.rows, 0).toLocaleString('en')
  const time = describeTime(milliseconds)
  const verb = isCopy ? 'copied and compared' : 'compared'
  await out(`${count} with ${sum} rows ${verb} in ${time}: the databases are equal.\n`)
  return true
}

function describeDifference({ name, source, target, differences }: TableComparison): string {
  const difference =
    source.rows === target.rows
      ? `Table ${name} differs: it has ${countOf(source.rows, 'row')} in both databases, but other values.`
      : `Table ${name} differs: the source has ${countOf(source.rows, 'row')}, the target ${target.rows}.`
  const isCut = differences.length === maxDifferences
  return [
    difference,
    ...differences.map((one) => `  ${describeRow(one)}`),
    ...(isCut ? [`  These are the first ${maxDifferences} rows.`] : []),
  ].join('\n')
}

/** `row 7, column price`. Values may be secret and are not printed. */
function describeRow({ row, columns, side }: RowDifference): string {
  const list = `column${columns.length === 1 ? '' : 's'} ${columns.join(', ')}`
  if (side === 'both') return `row ${row}, ${list}`
  if (columns.length === 0) return `row ${row} is only in the ${side}`
  return `row ${row} of the ${side}, ${list}, compared with the most similar row`
}

/** Milliseconds between two lines: in a terminal, and in a file or a log. */
const [terminalInterval, logInterval] = [1000, 10_000]

/** Prints how far a copy is: `lamp: 1,200,000 of 5,000,000 rows, 24 % of all, 1 min 5 s left`. */
class ProgressLines {
  readonly #terminal: Terminal
  readonly #interval: number
  #printedAt = performance.now()
  #step: CopyProgress['step'] | undefined
  #startedAt = 0
  /** The rows that were done when the step began. */
  #before = 0

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    this.#interval = terminal.progress === undefined ? logInterval : terminalInterval
  }

  show(progress: CopyProgress): void {
    const { step, allDone } = progress
    const now = performance.now()
    if (this.#step !== step) {
      this.#step = step
      this.#startedAt = now
      this.#before = allDone
    }
    if (now - this.#printedAt < this.#interval) return
    this.#printedAt = now
    const text = this.#describe(progress, now)
    if (this.#terminal.progress === undefined) void this.#terminal.err(`${text}\n`)
    else this.#terminal.progress(text)
  }

  #describe({ step, table, done, total, allDone, allTotal }: CopyProgress, now: number): string {
    const percent = allTotal === 0 ? 100 : Math.floor((allDone / allTotal) * 100)
    const rowsPerMillisecond = (allDone - this.#before) / Math.max(1, now - this.#startedAt)
    const left =
      rowsPerMillisecond === 0
        ? ''
        : `, ${describeTime((allTotal - allDone) / rowsPerMillisecond)} left`
    const verb = step === 'copy' ? 'copied' : 'compared'
    return `${table}: ${done.toLocaleString('en')} of ${total.toLocaleString('en')} rows ${verb}, ${percent} % of all${left}`
  }
}
