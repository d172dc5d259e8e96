/** Writes differences as the text of a migration, with comments on what must be reviewed. */

import type { Dialect } from '../../engines/contract/dialect.js'
import {
  fillsOnly,
  writeAddCheck,
  writeAddColumn,
  writeDropDefault,
} from '../../engines/contract/ddl.js'
import { quote, quoteTable, schemaOf } from '../../engines/contract/quote.js'
import { toNotNullName } from '../model/generated-names.js'
import type { Difference } from '../schema/difference-kinds.js'
import type { ColumnSchema } from '../../engines/contract/table-schema.js'
import { onceRebuilt } from '../schema/sync.js'

/**
 * The steps that change a large table in use without blocking its readers and writers: a column is added as nullable,
 * filled in batches and constrained afterwards; an index is created concurrently. These steps run outside transactions,
 * and can run again after an interruption. Sources: PostgreSQL, ALTER TABLE, Notes; CREATE INDEX.
 */
interface OnlineSteps {
  /** Statements that hold a lock only briefly, or on a table that is not in use yet. */
  readonly now: readonly string[]
  /** Statements that take long but block no other work. Each is committed by itself. */
  readonly deferred: readonly string[]
  /** The statements that undo all of it. */
  readonly undo: readonly string[] | undefined
  /** A comment for the reader of the file. */
  readonly warning?: string
}

const renamed =
  'processes of the version before fail on this table once it has run. Stop them first, or add a field, copy the values, and remove the old field later.'

function movesRows(table: string): string {
  return `on Citus, the rows of ${table} are copied. Its writes continue only where wal_level is logical.`
}

/** The number of rows that one statement fills. */
const batchSize = 10_000

/** @param newTables tables that the same migration creates: they are empty */
function toOnlineSteps(
  difference: Difference,
  dialect: Dialect,
  newTables: ReadonlySet<string>,
): OnlineSteps {
  const { kind, table, sql, deferred = [], undo, rebuilds, isLate, online } = difference
  if (rebuilds === true)
    return { now: sql, deferred: [], undo, warning: 'writes wait while the rows are copied.' }
  if (online !== undefined) return { now: [], deferred: online, undo, warning: movesRows(table) }
  if (isLate === true) {
    const { now, deferred: checks } = referenceSteps(difference)
    return { now: [], deferred: [...now, ...checks], undo }
  }
  const plain = { now: [...sql, ...deferred], deferred: [], undo }
  const isRename = kind === 'renamed table' || kind === 'renamed column'
  if ((dialect.tables.changes.kind === 'anew' && !isRename) || newTables.has(table)) return plain
  switch (kind) {
    case 'missing index':
      return indexSteps(difference)
    case 'missing foreign key':
    case 'other foreign key':
      return referenceSteps(difference)
    case 'other key':
      return { now: [], deferred: sql, undo }
    case 'renamed table':
    case 'renamed column':
      return { ...plain, warning: renamed }
    case 'missing check':
      return { now: [...dropConstraintsFirst(table, sql), ...sql], deferred, undo }
    case 'missing column':
      return columnSteps(difference, dialect)
    case 'stricter column':
      return stricterSteps(difference)
    case 'other type':
      // Without a conversion the rows are not rewritten.
      if (!sql.some((one) => one.includes(' using '))) return plain
      return {
        ...plain,
        warning: `reads and writes of ${table} wait while its rows are rewritten.`,
      }
    default:
      return plain
  }
}

/** An interrupted build leaves an invalid index, which is dropped first. */
function indexSteps({ table, sql, undo = [] }: Difference): OnlineSteps {
  const create = /^create (unique )?index ("(?:[^"]|"")+")/
  const schemaName = schemaOf(table)
  const schema = schemaName === undefined ? '' : `${quote(schemaName)}.`
  const now = sql.filter((one) => !create.test(one) && !one.startsWith('drop index'))
  const deferred = sql
    .filter((one) => create.test(one))
    .flatMap((one) => [
      `drop index concurrently if exists ${schema}${create.exec(one)?.[2] ?? ''}`,
      one.replace(create, 'create $1index concurrently $2'),
    ])
  return {
    now,
    deferred,
    undo: undo.map((one) => one.replace(/^drop index/, 'drop index concurrently if exists')),
  }
}

/** Creates an index concurrently, where statements are committed one by one. */
function toConcurrent(statement: string): string {
  return statement.replace(
    /^create (unique )?index (?!concurrently)/i,
    'create $1index concurrently ',
  )
}

function referenceSteps({ table, sql, undo }: Difference): OnlineSteps {
  const names = sql.flatMap((one) => constraintOf(one) ?? [])
  return {
    now: [
      ...dropConstraintsFirst(table, sql),
      ...sql.map((one) => (constraintOf(one) === undefined ? one : `${one} not valid`)),
    ],
    deferred: names.map((name) => `alter table ${quoteTable(table)} validate constraint ${name}`),
    undo,
  }
}

function columnSteps(
  { table, column, undo, sql, primaryKey = [] }: Difference,
  dialect: Dialect,
): OnlineSteps {
  if (column === undefined) return { now: sql, deferred: [], undo }
  const { checks = [], nullable, fill, preset } = column
  const isFilled = nullable || fill !== undefined || preset !== undefined
  const bare = { ...column, checks: [], nullable: nullable || !isFilled }
  const alter = `alter table ${quoteTable(table)}`
  // Existing rows get a default without being rewritten.
  const now = [
    writeAddColumn(table, bare, dialect).replace('add column', 'add column if not exists'),
  ]
  if (fillsOnly(bare)) now.push(writeDropDefault(table, bare))
  const deferred: string[] = []
  for (const check of checks) {
    const add = `${writeAddCheck(table, check)} not valid`
    now.push(...dropConstraintsFirst(table, [add]), add)
    deferred.push(`${alter} validate constraint ${quote(check.name)}`)
  }
  if (!isFilled) deferred.push(...notNullSteps(table, column, primaryKey))
  return {
    now,
    deferred,
    undo,
    ...(!isFilled && {
      warning: `fill in ${table}.${column.name} for existing rows, where the comment says so.`,
    }),
  }
}

function stricterSteps({ table, column, sql, undo, primaryKey = [] }: Difference): OnlineSteps {
  if (column === undefined) return { now: sql, deferred: [], undo }
  const loosen = `alter table ${quoteTable(table)} alter column ${quote(column.name)} drop not null`
  return { now: [], deferred: notNullSteps(table, column, primaryKey), undo: [loosen] }
}

/** `set not null` does not scan the table if a check already guarantees it. */
function notNullSteps(
  table: string,
  { name, fill }: ColumnSchema,
  primaryKey: readonly string[],
): string[] {
  const alter = `alter table ${quoteTable(table)}`
  const [column, rule] = [quote(name), quote(toNotNullName(table, name))]
  const backfill = (value: string): string => writeBackfill(table, column, primaryKey, value)
  return [
    `${alter} drop constraint if exists ${rule}`,
    `${alter} add constraint ${rule} check (${column} is not null) not valid`,
    ...(fill === undefined ? [] : [backfill(fill)]),
    `${fill === undefined ? toComment(backfill('/* a value */')) : ''}${alter} validate constraint ${rule}`,
    `${alter} alter column ${column} set not null`,
    `${alter} drop constraint ${rule}`,
  ]
}

/**
 * A row that another transaction fills meanwhile keeps that value, because the outer condition is evaluated again. Rows
 * are found by their key, because a `ctid` may also identify rows of other partitions.
 *
 * ```sql
 * do $$ begin loop
 *   update "product" set "size" = 0 where "size" is null
 *     and "id" in (select "id" from "product" where "size" is null limit 10000);
 *   exit when not found and not exists (select 1 from "product" where "size" is null);
 *   commit;
 * end loop; end $$
 * ```
 */
function writeBackfill(
  table: string,
  column: string,
  primaryKey: readonly string[],
  fill: string,
): string {
  const name = quoteTable(table)
  const list = primaryKey.map(quote).join(', ')
  const key = primaryKey.length === 1 ? list : `(${list})`
  const isEmpty = `${column} is null`
  return [
    'do $filigree$ begin loop',
    `  update ${name} set ${column} = ${fill} where ${isEmpty}`,
    `    and ${key} in (select ${list} from ${name} where ${isEmpty} limit ${batchSize});`,
    `  exit when not found and not exists (select 1 from ${name} where ${isEmpty});`,
    '  commit;',
    'end loop; end $filigree$',
  ].join('\n')
}

/** The same as a comment for the developer to fill in, if the record has no default. */
function toComment(backfill: string): string {
  return `${writeComment(backfill)};\n`
}

/** A default in a message may contain line breaks. */
function toOneLine(message: string): string {
  return message.replace(/\s*[\r\n]+\s*/g, ' ')
}

/** Each line becomes a comment. */
function writeComment(text: string): string {
  return text.replace(/^/gm, '-- ')
}

function constraintOf(sql: string): string | undefined {
  return /\badd constraint ("(?:[^"]|"")+")/.exec(sql)?.[1]
}

/** Drops the constraints first, unless the statements do, for when the steps run a second time. */
function dropConstraintsFirst(table: string, sql: readonly string[]): string[] {
  return sql
    .flatMap((one) => constraintOf(one) ?? [])
    .map((name) => `alter table ${quoteTable(table)} drop constraint if exists ${name}`)
    .filter((drop) => !sql.includes(drop))
}

export interface MigrationText {
  readonly text: string
  /** Warnings for the developer, before the migration runs. */
  readonly warnings: readonly string[]
}

/** Whether there is anything to change; tables and columns without a record may stay. */
export function needsMigration(differences: readonly Difference[]): boolean {
  return differences.some(runsByDefault)
}

/**
 * ```sql
 * -- Table product is missing.
 * create table "product" (…);
 *
 * -- down
 * drop table "product";
 * ```
 *
 * @param forgotten tables without a record
 */
export function writeMigration(
  differences: readonly Difference[],
  forgotten: readonly string[],
  dialect: Dialect,
): MigrationText {
  const newTables = new Set(
    differences.filter(({ kind }) => kind === 'missing table').map(({ table }) => table),
  )
  const changes = [...onceRebuilt(differences), ...forgotten.map(toForgotten)]
  if (!needsMigration(changes)) changes.unshift(nothing)
  const all = changes.map((difference) => ({
    difference,
    steps: toOnlineSteps(difference, dialect, newTables),
  }))
  // With other names, the values can only be checked after the rename.
  const renamedTables = new Set(
    changes.filter(({ kind }) => kind.startsWith('renamed')).map(({ table }) => table),
  )
  const first = changes.filter(({ table }) => !renamedTables.has(table))
  const up = [...writeChecks(first), ...all.map((one) => writeUp(one, renamedTables))]
  const deferred = all.filter(({ steps }) => steps.deferred.length > 0).map(writeDeferred)
  const down = [...all]
    .reverse()
    .filter(({ difference }) => runsByDefault(difference))
    .map((change) => writeDown(change, deferred.length > 0))
  if (down.length === 0) down.push(`-- ${nothing.message}\n`)
  // Statements that take long are committed one by one, so that they do not block other work.
  const addsValues = changes.some(({ kind }) => kind === 'missing value')
  const head = deferred.length === 0 && !addsValues ? '' : '-- filigree: no transaction\n\n'
  return {
    text: `${head}${[...up, ...deferred].join('\n')}\n-- down\n${down.join('\n')}`,
    warnings: all.flatMap(({ difference, steps }) =>
      steps.warning === undefined ? [] : [`${difference.message} ${upperFirst(steps.warning)}`],
    ),
  }
}

/** A difference, and the steps that remove it. */
interface Change {
  readonly difference: Difference
  readonly steps: OnlineSteps
}

function upperFirst(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

/** For an engine that needs no changes while another one does. */
const nothing: Difference = {
  kind: 'unknown column',
  table: '',
  message: 'Nothing to do for this engine.',
  blocks: false,
  risk: 'safe',
  sql: [],
}

function toForgotten(table: string): Difference {
  const message = `Table ${table} does not belong to a record.`
  return { ...nothing, table, message, risk: 'by hand', sql: [`drop table ${quoteTable(table)}`] }
}

/** Columns and tables without a field or record are never dropped automatically: their data would be lost. */
function runsByDefault({ kind }: Difference): boolean {
  return kind !== 'unknown column'
}

/** Before anything is changed, because some files are committed statement by statement. */
function writeChecks(differences: readonly Difference[]): string[] {
  const checks = differences.flatMap((one) => one.checks ?? [])
  if (checks.length === 0) return []
  const title = '-- Stops here if a value cannot be converted.'
  return [[title, ...checks.map((one) => `${one};`), ''].join('\n')]
}

function writeUp({ difference, steps }: Change, renamedTables: ReadonlySet<string>): string {
  const { message, risk, rebuilds, sql, kind, table } = difference
  const checks = renamedTables.has(table) ? (difference.checks ?? []) : []
  const lines = [writeComment(toOneLine(message))]
  if (!runsByDefault(difference)) {
    if (sql.length === 0) return `${lines.join('\n')}\n`
    lines.push('-- Its data would be lost. Uncomment to drop it:')
    return [...lines, ...sql.map((one) => writeComment(`${one};`)), ''].join('\n')
  }
  if (rebuilds === true) lines.push('-- The table is rebuilt and its rows are copied.')
  if (kind.startsWith('renamed')) lines.push(`-- REVIEW: ${steps.warning ?? ''}`)
  else if (steps.warning !== undefined) lines.push(`-- WARNING: ${steps.warning}`)
  if (risk === 'may fail') lines.push('-- REVIEW: existing rows may not allow it.')
  if (risk === 'by hand') lines.push('-- REVIEW: values may be changed or refused.')
  if (steps.now.length === 0)
    lines.push('-- See below, among the steps that do not block other work.')
  return [...lines, ...[...checks, ...steps.now].map((one) => `${one};`), ''].join('\n')
}

function writeDeferred({ difference: { message }, steps }: Change): string {
  return [
    writeComment(`Without blocking other work: ${toOneLine(message)}`),
    ...steps.deferred.map((one) => `${one};`),
    '',
  ].join('\n')
}

/** @param isOnline whether each statement is committed by itself */
function writeDown(
  { difference: { message }, steps: { undo } }: Change,
  isOnline: boolean,
): string {
  if (undo === undefined) return `${irreversible} ${toOneLine(message)}\n`
  return undo.map((one) => `${isOnline ? toConcurrent(one) : one};\n`).join('')
}

const irreversible = '-- REVIEW: cannot be undone automatically:'

/** @returns the changes that the part below `-- down` does not undo, a sentence for each */
export function readIrreversible(down: string): string[] {
  return down
    .split('\n')
    .filter((line) => line.startsWith(irreversible))
    .map((line) => line.slice(irreversible.length).trim())
}
