/**
 * Copies all rows of one database into another, perhaps of another engine, and compares them at the end. It reads one
 * consistent state of the source and never writes to it. Hooks do not run.
 */
import { schemaOf } from '../../engines/contract/quote.js'
import type { Runner } from '../../engines/contract/engine.js'
import type { Catalogue } from '../../engines/contract/table-schema.js'
import type {
  CopyTransaction,
  EngineCopying,
  DatabaseSnapshot,
} from '../../engines/contract/exchange.js'
import type { Database } from '../database.js'
import { toSchema } from '../schema/schema.js'
import {
  compareTables,
  TableHash,
  type TableComparison,
  type TableContent,
} from './compare-tables.js'
import { copyError } from './copy-error.js'
import { ownTablesOf, planCopy, type CopiedTable, type CopyPlan } from './copy-plan.js'
import { CopyState, type TableState } from './copy-state.js'
import {
  analyzeTables,
  checkEmpty,
  checkReferences,
  checkTargetSchema,
  copyCounters,
  createOwnTables,
} from './copy-target.js'
import { PostponedColumns } from './postponed-columns.js'
import {
  checkRead,
  maxRows,
  measureTable,
  readRows,
  type CopiedRow,
  type TableExtent,
} from './read-rows.js'
import { readingOf, type ReadSide } from './read-side.js'
import { TableTransactions } from './table-transactions.js'
import { RowInserter } from './write-rows.js'

/** Rows that are written together. */
const writtenRows = 4 * maxRows

export interface CopyProgress {
  readonly step: 'copy' | 'compare'
  readonly table: string
  /** Rows of the table. */
  readonly done: number
  readonly total: number
  /** Rows of all tables in this step. */
  readonly allDone: number
  readonly allTotal: number
}

export interface CopyOptions {
  readonly source: Database
  readonly target: Database
  /** Continues a copy that was interrupted. */
  readonly continues?: boolean
  readonly onProgress?: (progress: CopyProgress) => void
}

export interface CopyReport {
  readonly tables: readonly TableComparison[]
  /** What was not copied, a sentence for each. */
  readonly omissions: readonly string[]
}

/** @throws {DeclarationError} `COPY_FAILED`, which names the table */
export async function copyDatabase(options: CopyOptions): Promise<CopyReport> {
  const snapshot = await copyingOf(options.source).snapshot()
  try {
    return await new DatabaseCopy(options, snapshot).run()
  } finally {
    await snapshot.close()
  }
}

/** Compares the rows of two databases, without writing. */
export async function compareDatabases(options: CopyOptions): Promise<CopyReport> {
  const { source, target, onProgress } = options
  const [one, other] = [await copyingOf(source).snapshot(), await copyingOf(target).snapshot()]
  try {
    const plan = await readPlan(options, one)
    const sides = toSides(options, one, other)
    const tables = await compareTables(plan.tables, sides, onProgress)
    return { tables, omissions: plan.omissions }
  } finally {
    await one.close()
    await other.close()
  }
}

function copyingOf({ context: { engine } }: Database): EngineCopying {
  if (engine.copying !== undefined) return engine.copying
  throw copyError('A database in memory cannot be copied.', undefined, 'Name a file or a server.')
}

function toSides(
  { source, target }: CopyOptions,
  from: DatabaseSnapshot,
  to: DatabaseSnapshot,
): readonly [ReadSide, ReadSide] {
  return [
    { snapshot: from, dialect: source.context.dialect, isSource: true },
    { snapshot: to, dialect: target.context.dialect, isSource: false },
  ]
}

/** @throws {DeclarationError} `COPY_FAILED` if a database lacks a table or column of the records */
async function readPlan(
  { source, target }: CopyOptions,
  snapshot: DatabaseSnapshot,
): Promise<CopyPlan> {
  const plan = planCopy(
    { database: source, catalogue: await readCatalogue(source, snapshot, target) },
    { database: target, catalogue: await readCatalogue(target, target.context.engine, target) },
  )
  if (plan.missing.length === 0) return plan
  throw copyError(
    `The databases do not have the same tables: ${plan.missing.join(' ')}`,
    undefined,
    'Run filigree migrate up on both of them.',
  )
}

/** Tables in other schemas are read if they are named. */
async function readCatalogue(
  { context: { engine, dialect } }: Database,
  runner: Runner,
  { tables }: Database,
): Promise<Catalogue> {
  const all = await engine.schema.catalogue(runner)
  const names = toSchema(tables, dialect, 0).map(({ name }) => name)
  const others = names.filter((name) => schemaOf(name) !== undefined)
  if (others.length === 0) return all
  return new Map([...(await engine.schema.catalogue(runner, others)), ...all])
}

class DatabaseCopy {
  readonly #options: CopyOptions
  readonly #snapshot: DatabaseSnapshot
  readonly #copying: EngineCopying
  readonly #state: CopyState
  /** Contents of the source's tables, where they were read completely. */
  readonly #contents = new Map<string, TableContent>()
  #allDone = 0
  #allTotal = 0
  #checksReferences = true

  constructor(options: CopyOptions, snapshot: DatabaseSnapshot) {
    this.#options = options
    this.#snapshot = snapshot
    this.#copying = copyingOf(options.target)
    this.#state = new CopyState(options.target)
  }

  async run(): Promise<CopyReport> {
    const { source, target } = this.#options
    await checkTargetSchema(target)
    const { engine } = source.context
    const catalogue = await engine.schema.catalogue(this.#snapshot)
    await createOwnTables(target, ownTablesOf(catalogue).filter(isUnrecorded(target)))
    const { tables, omissions } = await readPlan(this.#options, this.#snapshot)
    const states = await this.#begin(tables)
    const extents = new Map<string, TableExtent>()
    for (const table of tables) {
      const extent = await measureTable(this.#snapshot, readingOf(table, this.#reading))
      extents.set(table.name, extent)
      this.#allTotal += extent.rows
    }
    const postponed: PostponedColumns[] = []
    for (const table of tables) {
      const extent = extents.get(table.name) ?? { rows: 0, rowSize: 0 }
      postponed.push(await this.#copyTable(table, extent, states.get(table.name)))
    }
    await this.#complete(tables, postponed, extents)
    const comparisons = await this.#compare(tables)
    if (comparisons.every(({ isEqual }) => isEqual)) await this.#state.drop()
    return { tables: comparisons, omissions }
  }

  get #reading() {
    return { dialect: this.#options.source.context.dialect, isSource: true }
  }

  /** @returns the states of the tables whose copy has begun */
  async #begin(tables: readonly CopiedTable[]): Promise<ReadonlyMap<string, TableState>> {
    const { target, continues = false } = this.#options
    const found = await this.#state.read()
    const states = found ?? new Map<string, TableState>()
    if (!continues && states.size > 0)
      throw copyError(
        'An earlier copy into the target was interrupted.',
        undefined,
        'Continue it with --continue, or empty the target and drop its table filigree_copy.',
      )
    await checkEmpty(
      target,
      tables.filter(({ name }) => !states.has(name)),
    )
    await this.#state.create()
    return states
  }

  async #copyTable(
    table: CopiedTable,
    extent: TableExtent,
    state: TableState | undefined,
  ): Promise<PostponedColumns> {
    const { dialect } = this.#options.target.context
    const { rows: total, rowSize } = extent
    const progress = { table: table.name, total }
    const writing = new TableTransactions(this.#copying, this.#state, table)
    await writing.begin()
    this.#checksReferences = writing.checksReferences
    const postponed = new PostponedColumns(table, writing.checksReferences)
    try {
      if (state?.isDone === true) {
        this.#report(progress, total, total)
        return postponed
      }
      // Without a key, the copied rows cannot be told apart from the others.
      const isBegun = state !== undefined && table.key.length > 0
      if (state !== undefined && !isBegun) await writing.deleteAll()
      const after = isBegun && state.rows > 0 ? state.last : undefined
      const writer = new RowInserter(table, dialect)
      const hash = new TableHash(table)
      let done = isBegun ? state.rows : 0
      this.#report(progress, done, done)
      const reading = { ...readingOf(table, this.#reading), rowSize, after }
      let waiting: CopiedRow[] = []
      for await (const { rows, last } of readRows(this.#snapshot, reading)) {
        for (const row of rows) hash.add(row)
        for (const row of postponed.omit(rows)) waiting.push(row)
        done += rows.length
        this.#report(progress, done, rows.length)
        if (rows.length === maxRows && waiting.length < writtenRows) continue
        const written = waiting
        waiting = []
        const state = { rows: done, last, isDone: false }
        await writing.write((runner) => writer.write(runner, written), state)
      }
      if (waiting.length > 0)
        await writing.write((runner) => writer.write(runner, waiting), undefined)
      // A continued copy reads the source again to compare it.
      if (!isBegun) checkRead(table.name, done, extent)
      await writing.finish()
      if (!isBegun) this.#contents.set(table.name, hash.content)
      return postponed
    } finally {
      await writing.close()
    }
  }

  /** @param added rows since the last call */
  #report({ table, total }: { table: string; total: number }, done: number, added: number): void {
    this.#allDone += added
    this.#options.onProgress?.({
      step: 'copy',
      table,
      done,
      total,
      allDone: this.#allDone,
      allTotal: this.#allTotal,
    })
  }

  async #complete(
    tables: readonly CopiedTable[],
    postponed: readonly PostponedColumns[],
    extents: ReadonlyMap<string, TableExtent>,
  ): Promise<void> {
    const { source, target } = this.#options
    for (const [index, table] of tables.entries()) {
      const { rowSize = 0 } = extents.get(table.name) ?? {}
      const reading = { ...readingOf(table, this.#reading), rowSize }
      await postponed[index]?.write(readRows(this.#snapshot, reading), this.#copying, target)
    }
    await inTransaction(this.#copying, async (runner) => {
      await copyCounters(
        { runner: this.#snapshot, database: source },
        { runner, database: target },
        tables,
      )
      await analyzeTables(runner, target, tables)
    })
  }

  async #compare(tables: readonly CopiedTable[]): Promise<readonly TableComparison[]> {
    const snapshot = await this.#copying.snapshot()
    try {
      const sides = toSides(this.#options, this.#snapshot, snapshot)
      const { onProgress } = this.#options
      const comparisons = await compareTables(tables, sides, onProgress, this.#contents)
      if (!this.#checksReferences) await checkReferences(snapshot, tables)
      return comparisons
    } finally {
      await snapshot.close()
    }
  }
}

/** Whether a table of the framework is not a record of the application, whose migrations create it. */
function isUnrecorded(target: Database): (table: { readonly name: string }) => boolean {
  const names = new Set([...target.tables].map(({ name }) => name))
  return ({ name }) => !names.has(name)
}

async function inTransaction(
  copying: EngineCopying,
  work: (transaction: CopyTransaction) => Promise<void>,
): Promise<void> {
  const transaction = await copying.begin()
  try {
    await work(transaction)
    await transaction.commit()
  } catch (error) {
    await transaction.rollback()
    throw error
  }
}
