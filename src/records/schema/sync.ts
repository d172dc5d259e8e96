/** Brings the database in line with the records, as far as no data can be lost. */
import { DeclarationError, type Problem } from '../../errors/declaration-error.js'
import type { DatabaseTypes, TableSchema } from '../../engines/contract/table-schema.js'
import { isMisplaced, type Difference } from './difference-kinds.js'
import { findDifferences, findUnmanagedDifferences, managedSchemas } from './difference.js'
import type { Runner } from '../../engines/contract/engine.js'
import { EngineError } from '../../engines/contract/engine-error.js'
import { toSchema } from './schema.js'
import { enumsOf, findMissingTypes, namedTypes } from './type-names.js'
import type { RecordsContext } from '../statements/source.js'
import type { Table } from '../model/table.js'
import { frameworkQuery, frameworkScript } from '../../engines/contract/statement.js'

/** The differences between the records' tables and the database's. */
export async function readDifferences(
  tables: Iterable<Table>,
  context: RecordsContext,
  runner: Runner,
): Promise<Difference[]> {
  const { engine, dialect } = context
  const schemas = toSchema(tables, dialect, context.now())
  const names = schemas.flatMap(({ name, oldNames = [] }) => [name, ...oldNames])
  const actual = await engine.schema.catalogue(runner, names)
  const types = await readTypes(schemas, context, runner)
  return [
    ...(types === undefined ? [] : findMissingTypes(schemas, types, dialect)),
    ...findUnmanagedDifferences(schemas, actual, dialect),
    ...findDifferences(managedSchemas(schemas), actual, dialect, {
      enums: types && enumsOf(types, dialect),
    }),
  ]
}

/** @returns `undefined` if no field names a type of the engine */
async function readTypes(
  schemas: readonly TableSchema[],
  { engine }: RecordsContext,
  runner: Runner,
): Promise<DatabaseTypes | undefined> {
  const names = namedTypes(schemas)
  return names.length === 0 ? undefined : engine.schema.types?.(runner, names)
}

/**
 * Creates missing tables, columns, indexes and references, all or nothing, in one process at a time.
 *
 * @returns the differences that were removed
 * @throws {DeclarationError} `SCHEMA_DIFFERS`: changes that could lose data need a migration
 */
export async function syncSchema(
  tables: Iterable<Table>,
  context: RecordsContext,
): Promise<Difference[]> {
  const before = await readDifferences(tables, context, context.engine)
  if (before.every(isSettled)) return []
  await addEnumValues(before, context)
  return context.engine.schema.change(async (runner) => {
    // The schema is read again, because another process may have changed it.
    const found = await readDifferences(tables, context, runner)
    const differences = await omitRefused(
      found.filter((difference) => !isSettled(difference)),
      runner,
    )
    const refused = differences.filter(({ risk }) => risk === 'by hand')
    if (refused.length > 0) throw new DeclarationError(toProblems(refused))
    for (const difference of onceRebuilt(differences)) await apply(difference, runner)
    return differences
  })
}

/** Values of enums are added before, because a default can use them only once they are committed. */
async function addEnumValues(
  differences: readonly Difference[],
  { engine }: RecordsContext,
): Promise<void> {
  const values = differences.filter(({ kind }) => kind === 'missing value')
  if (values.length === 0) return
  await engine.schema.change(async (runner) => {
    for (const difference of values) await apply(difference, runner)
  })
}

/**
 * @returns the tables whose rows are on other machines than the records ask for
 * @throws {DeclarationError} `SCHEMA_DIFFERS` with every difference that the records cannot work with
 */
export async function checkSchema(
  tables: Iterable<Table>,
  context: RecordsContext,
): Promise<Difference[]> {
  const differences = await readDifferences(tables, context, context.engine)
  const blocking = differences.filter(({ blocks }) => blocks)
  if (blocking.length > 0) throw new DeclarationError(toProblems(blocking))
  return differences.filter(isMisplaced)
}

/** A rebuild of a table removes all other differences in it. */
export function onceRebuilt(differences: readonly Difference[]): Difference[] {
  const rebuilt = new Set(differences.filter(({ rebuilds }) => rebuilds).map(({ table }) => table))
  const visited = new Set<string>()
  return differences.filter(({ table, rebuilds, kind }) => {
    if (!rebuilt.has(table)) return true
    if (!rebuilds || visited.has(table))
      return kind === 'unknown column' || kind.startsWith('renamed')
    visited.add(table)
    return true
  })
}

/** True if records work with the difference, and no change of the schema removes it. */
export function isSettled({ blocks, upgrades }: Difference): boolean {
  return !blocks && upgrades !== true
}

/** Leaves out differences that rows do not allow to remove, as far as records work with them. */
async function omitRefused(
  differences: readonly Difference[],
  runner: Runner,
): Promise<Difference[]> {
  const tables = new Set<string>()
  for (const { unlessFound, table } of differences) {
    if (unlessFound === undefined) continue
    const row = await runner.run(frameworkQuery(unlessFound), [], 'first')
    if (row !== undefined) tables.add(table)
  }
  return differences.filter(
    ({ table, rebuilds, blocks }) => blocks || rebuilds !== true || !tables.has(table),
  )
}

async function apply(difference: Difference, runner: Runner): Promise<void> {
  try {
    for (const sql of [
      ...(difference.checks ?? []),
      ...difference.sql,
      ...(difference.deferred ?? []),
    ])
      await runner.run(frameworkScript(sql), [], 'nothing')
  } catch (error) {
    if (!(error instanceof EngineError) || !rowErrors.has(error.kind)) throw error
    const refusal = new DeclarationError([toProblem(difference)])
    refusal.cause = error
    throw refusal
  }
}

/** Kinds of errors that existing rows cause. */
const rowErrors: ReadonlySet<string> = new Set(['unique', 'reference', 'value', 'malformed'])

/** The maximum number of missing tables that are named. */
const maxNames = 20

/**
 * What differences are, and what to do about them. All missing tables that migrations make are one problem, which
 * includes their indexes and references.
 */
export function toProblems(differences: readonly Difference[]): Problem[] {
  const missing = differences.filter(
    ({ kind, isManaged }) => kind === 'missing table' && isManaged !== false,
  )
  const names = new Set(missing.map(({ table }) => table))
  const others = differences
    .filter(({ table, risk }) => !names.has(table) || risk !== 'safe')
    .map(toProblem)
  if (missing.length < 2) return [...missing.map(toProblem), ...others]
  const named = [...names].slice(0, maxNames).join(', ')
  const more = names.size > maxNames ? ` and ${names.size - maxNames} more` : ''
  const message = `Database: ${names.size} tables are missing: ${named}${more}.`
  return [{ code: 'SCHEMA_DIFFERS', message, remedy: remedies['missing table'] }, ...others]
}

export function toProblem(difference: Difference): Problem {
  const { message, first } = difference
  return {
    code: isMisplaced(difference) ? 'TABLE_MISPLACED' : 'SCHEMA_DIFFERS',
    message: `Database: ${message}`,
    remedy: first ?? remedyOf(difference),
  }
}

function remedyOf({ kind, risk, isManaged, command }: Difference): string {
  if (command !== undefined) {
    const how = isManaged === false ? '' : `${migrate} It sends: `
    return `${how}${command}`
  }
  if (isManaged === false) return changeElsewhere
  // A field that is optional or has a default needs only the migration.
  return kind === 'missing column' && risk === 'safe' ? migrate : remedies[kind]
}

const changeElsewhere =
  'Another program makes this table (managed: false): run its migrations, or correct the record.'

const migrate = 'Write a migration (filigree migrate make), review it and run filigree migrate up.'

const remedies: Readonly<Record<Difference['kind'], string>> = {
  'missing table':
    'Run filigree migrate up, and before it filigree migrate make if no migration creates this. Outside of production, the next start creates it.',
  'missing column': `Give the field a default or make it optional, so that existing rows can be given a value. ${migrate}`,
  'missing index': `Existing rows may hold equal values. ${migrate}`,
  'missing foreign key': `Existing rows may refer to missing rows. ${migrate}`,
  'looser column': migrate,
  'stricter column': `Existing rows may hold null. ${migrate}`,
  'other type': migrate,
  'other key': migrate,
  'other partitions': migrate,
  'unknown column': migrate,
  'unknown search': migrate,
  'unknown index': migrate,
  'unknown foreign key': migrate,
  'other foreign key': `Existing rows may refer to missing rows. ${migrate}`,
  'missing check': `Existing rows may break the rule: correct them, or leave the constraint out by { check: false }. ${migrate}`,
  'other check': migrate,
  'renamed table': migrate,
  'renamed column': migrate,
  'other distribution': migrate,
  'missing type': migrate,
  'missing value': migrate,
  'other default': migrate,
  'unfilled column': `No row can be written while this column must be filled. ${migrate}`,
}
