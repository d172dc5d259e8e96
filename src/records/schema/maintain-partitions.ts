/** Creates the next partitions of records with `partitionBy`, and detaches old ones, in one process at a time. */
import type { ActualPartition, PartitionSql } from '../../engines/contract/partitions.js'
import type { Runner } from '../../engines/contract/engine.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { frameworkScript } from '../../engines/contract/statement.js'
import type { TablePartitions } from '../../engines/contract/table.js'
import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import { addUnits } from '../model/partition-periods.js'
import type { Table } from '../model/table.js'
import type { RecordsContext } from '../statements/source.js'
import { defaultAhead, periodsFrom, toPartitionSchema, type PartitionPeriod } from './partitions.js'

export const maintainPartitionsOptions = declareOptions({
  /** How many partitions there should be after the current one. Default 3. */
  ahead: option.integer(0, 1000).shown(),
  /** Also creates the partitions since this date, as far as `keep` allows: `'2024-01-01'`. Default: the current one. */
  from: option.of<string>(
    (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
    "Write a date: '2024-01-01'.",
  ),
  /** True: only reports what would be done. Default false. */
  dryRun: option.flag(),
  /** False: detaches no partitions. Default true. */
  detach: option.flag(),
})

export interface MaintainPartitionsOptions extends OptionsOf<typeof maintainPartitionsOptions> {}

/** What was done for one table, or would be done. */
export interface PartitionReport {
  readonly table: string
  /** The names of new partitions. */
  readonly created: readonly string[]
  /** The names of partitions that are now tables of their own. */
  readonly detached: readonly string[]
  /** Partitions that could not be created or detached. */
  readonly failed: readonly { readonly name: string; readonly reason: string }[]
  /** The time from which rows have no partition, in ISO 8601. Null if there is no partition for the current time. */
  readonly until: string | null
}

/** A change of the partitions of one table. */
interface PartitionChange {
  readonly kind: 'created' | 'detached'
  readonly name: string
  readonly sql: readonly string[]
}

interface PartitionedTable {
  readonly table: string
  readonly partitions: TablePartitions
}

/** The records whose tables the database partitions. */
function partitionedTables(
  tables: Iterable<Table>,
  { dialect }: Pick<RecordsContext, 'dialect'>,
): PartitionedTable[] {
  if (dialect.tables.partitions === undefined) return []
  return [...tables].flatMap(({ name, partitions }) =>
    partitions === undefined ? [] : [{ table: dialect.tables.nameOf(name), partitions }],
  )
}

/** @returns a report for each partitioned table; none if the database has no partitions */
export async function maintainPartitions(
  tables: Iterable<Table>,
  context: RecordsContext,
  options: MaintainPartitionsOptions = {},
): Promise<PartitionReport[]> {
  const partitioned = partitionedTables(tables, context)
  const { engine } = context
  const found = await changesOf(partitioned, engine, context, options)
  if (options.dryRun === true || found.every(({ changes }) => changes.length === 0))
    return found.map(({ table, changes, until }) => ({ ...reportOf(table, changes, []), until }))
  const isOnline = context.dialect.can.changePiecemeal
  return engine.schema.change(
    async (runner) => {
      const reports: PartitionReport[] = []
      // Another process may have made them meanwhile.
      for (const { table, changes } of await changesOf(partitioned, runner, context, options)) {
        const { done, failed } = await applyEach(changes, runner)
        const state = await changesOf(
          partitioned.filter((one) => one.table === table),
          runner,
          context,
          options,
        )
        reports.push({ ...reportOf(table, done, failed), until: state[0]?.until ?? null })
      }
      return reports
    },
    { atomic: !isOnline },
  )
}

function reportOf(
  table: string,
  changes: readonly PartitionChange[],
  failed: PartitionReport['failed'],
): Omit<PartitionReport, 'until'> {
  const namesOf = (kind: PartitionChange['kind']): string[] =>
    changes.filter((change) => change.kind === kind).map(({ name }) => name)
  return { table, created: namesOf('created'), detached: namesOf('detached'), failed }
}

async function applyEach(changes: readonly PartitionChange[], runner: Runner) {
  const done: PartitionChange[] = []
  const failed: { name: string; reason: string }[] = []
  for (const change of changes) {
    try {
      for (const sql of change.sql) await runner.run(frameworkScript(sql), [], 'nothing')
      done.push(change)
    } catch (error) {
      if (!(error instanceof EngineError) || error.kind === 'unavailable') throw error
      failed.push({ name: change.name, reason: error.message })
    }
  }
  return { done, failed }
}

interface PartitionChanges {
  readonly table: string
  readonly changes: readonly PartitionChange[]
  readonly until: string | null
}

async function changesOf(
  tables: readonly PartitionedTable[],
  runner: Runner,
  context: RecordsContext,
  { ahead = defaultAhead, detach = true, from }: MaintainPartitionsOptions,
): Promise<PartitionChanges[]> {
  const { dialect } = context
  const sql = dialect.tables.partitions as PartitionSql
  const time = context.now()
  const result: PartitionChanges[] = []
  for (const { table, partitions } of tables) {
    const actual = await sql.read(runner, table, partitions.column)
    if (actual === undefined) continue
    const missing = periodsBetween(partitions, time, { ahead, from }).filter(
      (period) => !actual.some((one) => one.from < period.to && one.to > period.from),
    )
    const created = missing.map((period): PartitionChange => {
      const partition = toPartitionSchema(table, partitions, period, dialect)
      return { kind: 'created', name: partition.name, sql: sql.attach(table, partition) }
    })
    const old = detach ? oldPartitions(partitions, actual, time) : []
    const detached = old.map((one): PartitionChange => {
      const isOnline = dialect.can.changePiecemeal
      return { kind: 'detached', name: one.name, sql: [sql.detach(table, one, isOnline)] }
    })
    result.push({ table, changes: [...created, ...detached], until: endOf(actual, time) })
  }
  return result
}

/** The periods that should have a partition: those since a date that are kept, the current one, and the next ones. */
function periodsBetween(
  partitions: TablePartitions,
  now: number,
  { ahead, from }: { readonly ahead: number; readonly from: string | undefined },
): PartitionPeriod[] {
  const next = periodsFrom(partitions, now, ahead)
  if (from === undefined) return next
  const past: PartitionPeriod[] = []
  const limit = limitOf(partitions, now)
  let [period] = periodsFrom(partitions, Date.parse(from), 0) as [PartitionPeriod]
  while (period.to <= now) {
    if (period.to > limit) past.push(period)
    period = periodsFrom(partitions, period.to, 0)[0] as PartitionPeriod
  }
  return [...past, ...next]
}

/** Partitions that end before it are detached. */
function limitOf({ keep }: TablePartitions, now: number): number {
  return keep === undefined ? -Infinity : addUnits(keep.unit, now, -keep.count)
}

/** The partitions whose last rows are older than `keep`, and those whose detachment was interrupted. */
function oldPartitions(
  partitions: TablePartitions,
  actual: readonly ActualPartition[],
  now: number,
): ActualPartition[] {
  const limit = limitOf(partitions, now)
  return actual.filter(({ to, isDetaching }) => isDetaching || to <= limit)
}

/** The time until which there are partitions without a gap. */
function endOf(actual: readonly ActualPartition[], now: number): string | null {
  let end = now
  for (;;) {
    const next = actual.find(({ from, to }) => from <= end && to > end)
    if (next === undefined) break
    if (next.to === Infinity) return new Date(maxTime).toISOString()
    end = next.to
  }
  return end === now ? null : new Date(end).toISOString()
}

/** The last time of a Date with a year of four digits. */
const maxTime = Date.UTC(9999, 11, 31)

/** A table that has no partition for the current period, or for the next one. */
export interface PartitionWarning {
  readonly table: string
  /** A sentence. */
  readonly message: string
  /** Rows of the current time cannot be written. */
  readonly isUrgent: boolean
}

/** @returns the tables whose last partition is reached in the current period */
export async function findPartitionWarnings(
  tables: Iterable<Table>,
  context: RecordsContext,
): Promise<PartitionWarning[]> {
  const partitioned = partitionedTables(tables, context)
  const found = await changesOf(partitioned, context.engine, context, { detach: false, ahead: 1 })
  return found.flatMap(({ table, changes, until }): PartitionWarning[] => {
    if (changes.length === 0) return []
    return until === null
      ? [{ table, isUrgent: true, message: `${table} has no partition for the current time.` }]
      : [{ table, isUrgent: false, message: `${table} has no partition for rows from ${until}.` }]
  })
}
