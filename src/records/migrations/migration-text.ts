/** Writes differences as the text of a migration, with comments on what must be reviewed. */
import type { Dialect } from '../../engines/contract/dialect.js'
import { quote } from '../../engines/contract/ddl.js'
import type { Difference } from '../schema/difference-kinds.js'
import { onceRebuilt } from '../schema/sync.js'
import { toConcurrent, toOnlineSteps, type OnlineSteps } from './online-steps.js'

export interface MigrationText {
  readonly text: string
  /** What a developer must know before it runs. */
  readonly warnings: readonly string[]
}

/** Whether there is anything to change; tables and columns without a record may stay. */
export function isNeeded(differences: readonly Difference[]): boolean {
  return differences.some(isDone)
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
  const made = new Set(
    differences.filter(({ kind }) => kind === 'missing table').map(({ table }) => table),
  )
  const wanted = [...onceRebuilt(differences), ...forgotten.map(toForgotten)]
  if (!isNeeded(wanted)) wanted.unshift(nothing)
  const all = wanted.map((difference) => ({
    difference,
    steps: toOnlineSteps(difference, dialect, made),
  }))
  const up = all.map(writeUp)
  const later = all.filter(({ steps }) => steps.later.length > 0).map(writeLater)
  const down = [...all]
    .reverse()
    .filter(({ difference }) => isDone(difference))
    .map((change) => writeDown(change, later.length > 0))
  if (down.length === 0) down.push(`-- ${nothing.message}\n`)
  // Statements that take long are committed one by one, so that they block nobody.
  const head = later.length === 0 ? '' : '-- filigree: no transaction\n\n'
  return {
    text: `${head}${[...up, ...later].join('\n')}\n-- down\n${down.join('\n')}`,
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

/** For an engine that has everything while another one needs changes. */
const nothing: Difference = {
  kind: 'unknown column',
  table: '',
  message: 'Nothing to do for this engine.',
  blocks: false,
  remedy: 'safe',
  sql: [],
}

function toForgotten(table: string): Difference {
  const message = `Table ${table} does not belong to a record.`
  return { ...nothing, table, message, remedy: 'by hand', sql: [`drop table ${quote(table)}`] }
}

/** Columns and tables without a field or record are never dropped automatically: their data would be lost. */
function isDone({ kind }: Difference): boolean {
  return kind !== 'unknown column'
}

function writeUp({ difference, steps }: Change): string {
  const { message, remedy, rebuilds, sql, kind } = difference
  const lines = [`-- ${message}`]
  if (!isDone(difference)) {
    if (sql.length === 0) return `${lines.join('\n')}\n`
    lines.push('-- Its data would be lost. Uncomment to drop it:')
    return [...lines, ...sql.map((one) => `-- ${one};`), ''].join('\n')
  }
  if (rebuilds === true) lines.push('-- The table is rebuilt and its rows are copied.')
  if (kind.startsWith('renamed')) lines.push(`-- REVIEW: ${steps.warning ?? ''}`)
  else if (steps.warning !== undefined) lines.push(`-- WARNING: ${steps.warning}`)
  if (remedy === 'may fail') lines.push('-- REVIEW: existing rows may not allow it.')
  if (remedy === 'by hand') lines.push('-- REVIEW: values may be changed or refused.')
  if (steps.now.length === 0) lines.push('-- See below, among the steps that block nobody.')
  return [...lines, ...steps.now.map((one) => `${one};`), ''].join('\n')
}

function writeLater({ difference: { message }, steps }: Change): string {
  return [
    `-- Without blocking anybody: ${message}`,
    ...steps.later.map((one) => `${one};`),
    '',
  ].join('\n')
}

/** @param isOnline whether each statement is committed by itself */
function writeDown(
  { difference: { message }, steps: { undo } }: Change,
  isOnline: boolean,
): string {
  if (undo === undefined) return `${irreversible} ${message}\n`
  return undo.map((one) => `${isOnline ? toConcurrent(one) : one};\n`).join('')
}

const irreversible = '-- REVIEW: cannot be undone automatically:'

/** @returns what the part below `-- down` does not undo, a sentence each */
export function readIrreversible(down: string): string[] {
  return down
    .split('\n')
    .filter((line) => line.startsWith(irreversible))
    .map((line) => line.slice(irreversible.length).trim())
}
