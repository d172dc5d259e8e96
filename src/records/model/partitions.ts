/**
 * The option `partitionBy`: the table of a record is partitioned by ranges of time, on databases that have partitions. Either
 * the key contains the time, or the key is a UUID of version 7 that begins with it, so that a key leads to one partition.
 */
import type { Problem } from '../../errors/declaration-error.js'
import { Problems } from '../../errors/problems.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { orderedUuid, orderedUuidAt, timeOfUuid } from '../../core/ordered-uuid.js'
import type { Class } from '../../metadata/class.js'
import {
  storedColumnsOf,
  type Column,
  type TableIndex,
  type TablePartitions,
} from '../../engines/contract/table.js'
import { areFewPartitions, readPartitionAge } from './partition-periods.js'
import type { RecordOptions } from './record.js'
import { invalidKey } from './record-key.js'
import type { Instance, Table } from './table.js'

interface PartitionSource {
  readonly type: Class
  /** The table's name. */
  readonly name: string
  readonly options: Readonly<RecordOptions>
  readonly key: Column
  readonly columns: readonly Column[]
}

/** @returns `undefined` if the table is not partitioned, or if the option is invalid */
export function readPartitions(
  source: PartitionSource,
  problems: Problems,
): TablePartitions | undefined {
  const { type, options, columns } = source
  const { partitionBy } = options
  // Reported with the options.
  if (typeof partitionBy !== 'object' || typeof partitionBy.field !== 'string') return undefined
  const { field, every, keep } = partitionBy
  const found = problemWithOptions(source) ?? problemWithField(source, field)
  if (found !== undefined) {
    const [message, fix] = found
    problems.at(`@Record of ${type.name}`).add(problemOf(`partitionBy ${message}`, fix))
    return undefined
  }
  const time = columns.find(({ property }) => property === field) as Column
  const isInKey = source.key.parts?.includes(time) === true
  const age = keep === undefined ? undefined : readPartitionAge(keep)
  return Object.freeze({
    time,
    column: isInKey ? time : source.key,
    every,
    keep: age,
    areFew: areFewPartitions(every, age),
  })
}

type Found = readonly [message: string, fix: string]

/** The longest end of a partition's name, `_2026_11_23_07`, and the limit of names. */
const [longestEnd, longestName] = [14, 63]

function problemWithOptions({ type, name, options }: PartitionSource): Found | undefined {
  if (options.shardBy !== undefined)
    return ['cannot be combined with shardBy.', `Remove one of them from ${type.name}.`]
  if (options.managed === false)
    return [
      'needs a table that migrations make.',
      'Remove partitionBy: a partitioned table of another program works without it.',
    ]
  const bare = name.slice(name.indexOf('.') + 1)
  if (bare.length + longestEnd > longestName)
    return [
      `makes tables whose names begin with "${bare}" and would be too long.`,
      `Name a table of at most ${longestName - longestEnd} characters: { table: '…' }.`,
    ]
  return undefined
}

function problemWithField(
  { type, options, key, columns }: PartitionSource,
  field: string,
): Found | undefined {
  const column = columns.find(({ property }) => property === field)
  if (column === undefined) {
    const names = columns.map(({ property }) => property)
    return [
      `names "${field}", which is not a field.`,
      didYouMean(field, names) || `Name a field of kind "datetime" of ${type.name}.`,
    ]
  }
  const isInKey = key.parts?.includes(column) === true
  const isTime = column.storage === 'timestamp' && column.type === undefined
  const isDate = column.storage === 'date' && column.type === undefined && isInKey
  if (!isTime && !isDate)
    return [
      `names "${field}", which is not of kind "datetime".`,
      `Name a field of kind "datetime", or one of kind "date" that is a part of the key.`,
    ]
  if (column.nullable)
    return [`names "${field}", which may be null.`, `Remove nullable and optional from ${field}.`]
  if (isDate && options.partitionBy?.every === 'hour')
    return [`every: 'hour' is less than a date of "${field}".`, "Write every: 'day'."]
  if (isInKey || key.generated === 'uuid') return undefined
  return [
    `needs a key that contains the time of a row, and the key of ${type.name} does not contain ${field}.`,
    `Write @Field('id', { key: 'uuid' }), or name ${field} in the key: { key: ['…', '${field}'] }.`,
  ]
}

/** Reports unique indexes. A database keeps them for each partition, so they must contain what decides about it. */
export function checkUniqueIndexes(
  type: Class,
  partitions: TablePartitions,
  indexes: readonly TableIndex[],
  problems: Problems,
): void {
  const { column, time } = partitions
  const isInKey = column === time
  for (const { unique, columns } of indexes) {
    if (!unique || columns.includes(column)) continue
    const names = columns.map(({ property }) => property)
    const message = `@Record of ${type.name}: ${names.join(' and ')} cannot be unique, because each partition has only its own rows.`
    const fields = [...names, time.property].map((one) => `'${one}'`).join(', ')
    const fix = isInKey
      ? `Make the values unique together with the time: indexes: [{ fields: [${fields}], unique: true }].`
      : `Store the unique values in a record without partitionBy, or remove unique.`
    problems.add(problemOf(message, fix))
  }
}

function problemOf(message: string, remedy: string): Problem {
  return { code: 'RECORD_PARTITION', message, remedy }
}

/** Whether the key of a row begins with its time. */
export function hasTimedKey({ key, partitions }: Pick<Table, 'key' | 'partitions'>): boolean {
  return partitions !== undefined && partitions.column === key
}

/**
 * Sets the UUID key of a new row.
 *
 * @throws {HttpError} 400 `VALIDATION`: the row names a key of another time, or its time is before 1970
 */
export function setUuidKey(table: Pick<Table, 'key' | 'partitions'>, record: Instance): void {
  const { key, partitions } = table
  if (partitions === undefined || !hasTimedKey(table)) {
    record[key.property] ??= orderedUuid()
    return
  }
  const time = toMilliseconds(record[partitions.time.property])
  if (time < 0) throw invalidKey(partitions.time.property, 'min', 'must not be before 1970')
  const existing = record[key.property]
  if (existing === undefined || existing === null) record[key.property] = orderedUuidAt(time)
  else if (timeOfUuid(existing as string) !== time)
    throw invalidKey(
      key.property,
      'partition',
      `must begin with the time of ${partitions.time.property}`,
    )
}

/** @param value the value of a property of kind `datetime` */
function toMilliseconds(value: unknown): number {
  return new Date(value as string | Date).getTime()
}

/**
 * Whether values would change the time with which the key of a row begins.
 *
 * @param id the key in the driver's form
 */
export function changesTimeOfKey(
  table: Pick<Table, 'key' | 'partitions'>,
  id: unknown,
  values: Instance,
): boolean {
  const { partitions } = table
  if (partitions === undefined || !hasTimedKey(table)) return false
  const value = values[partitions.time.property]
  return value !== undefined && toMilliseconds(value) !== timeOfUuid(String(id))
}

/** The columns that no update changes, because they decide about the partition of a row. */
export function fixedColumns({ key, partitions }: Pick<Table, 'key' | 'partitions'>): Column[] {
  return [...storedColumnsOf(key), ...(partitions === undefined ? [] : [partitions.time])]
}
