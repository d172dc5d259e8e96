/** Brings the database to what the records want, as far as nothing can be lost by it. */
import { DeclarationError, type Problem } from '../../errors/declaration-error.js'
import type { Difference } from './difference-kinds.js'
import { findDifferences } from './difference.js'
import { EngineFault, type Runner } from '../engines/engine.js'
import { toSchema } from './schema.js'
import type { RecordsContext } from '../statements/source.js'
import type { Table } from '../model/table.js'

/** What differs between the tables that are wanted and those that are there. */
export async function readDifferences(
  tables: Iterable<Table>,
  context: RecordsContext,
  runner: Runner,
): Promise<Difference[]> {
  const { engine, dialect } = context
  const catalogue = await engine.catalogue(runner)
  return findDifferences(toSchema(tables, dialect, context.now()), catalogue, dialect)
}

/**
 * Makes missing tables, columns, indexes and references, all or nothing, one process after the other.
 *
 * @returns what was done
 * @throws {DeclarationError} `SCHEMA_DIFFERS`: what would change or lose data is for a migration
 */
export async function syncSchema(
  tables: Iterable<Table>,
  context: RecordsContext,
): Promise<Difference[]> {
  if ((await readDifferences(tables, context, context.engine)).every(isSettled)) return []
  return context.engine.changeSchema(async (runner) => {
    // Once more: another process may have been quicker.
    const found = await readDifferences(tables, context, runner)
    const differences = found.filter((difference) => !isSettled(difference))
    const refused = differences.filter(({ remedy }) => remedy === 'by hand')
    if (refused.length > 0) throw new DeclarationError(refused.map(toProblem))
    for (const difference of onceRebuilt(differences)) await apply(difference, runner)
    return differences
  })
}

/** @throws {DeclarationError} `SCHEMA_DIFFERS` with every difference that the records cannot work with */
export async function verifySchema(
  tables: Iterable<Table>,
  context: RecordsContext,
): Promise<void> {
  const differences = await readDifferences(tables, context, context.engine)
  const blocking = differences.filter(({ blocks }) => blocks)
  if (blocking.length > 0) throw new DeclarationError(blocking.map(toProblem))
}

/** A table that is made anew takes in all that differs in it. */
export function onceRebuilt(differences: readonly Difference[]): Difference[] {
  const rebuilt = new Set(differences.filter(({ rebuilds }) => rebuilds).map(({ table }) => table))
  const seen = new Set<string>()
  return differences.filter(({ table, rebuilds, kind }) => {
    if (!rebuilt.has(table)) return true
    if (!rebuilds || seen.has(table)) return kind === 'unknown column' || kind.startsWith('renamed')
    seen.add(table)
    return true
  })
}

function isSettled({ blocks, upgrades }: Difference): boolean {
  return !blocks && upgrades !== true
}

async function apply(difference: Difference, runner: Runner): Promise<void> {
  try {
    for (const sql of [...difference.sql, ...(difference.later ?? [])]) await runner.script(sql)
  } catch (error) {
    if (!(error instanceof EngineFault) || !hindrances.has(error.kind)) throw error
    const refusal = new DeclarationError([toProblem(difference)])
    refusal.cause = error
    throw refusal
  }
}

/** Rows that are there do not allow it. */
const hindrances: ReadonlySet<string> = new Set(['unique', 'reference', 'value'])

function toProblem({ message, kind }: Difference): Problem {
  return { code: 'SCHEMA_DIFFERS', message: `Database: ${message}`, remedy: remedies[kind] }
}

const migrate = 'Write a migration (filigree migrate make), review it and run filigree migrate up.'

const remedies: Readonly<Record<Difference['kind'], string>> = {
  'missing table': migrate,
  'missing column': `Give the field a default or make it optional, so that rows that are there can have it. ${migrate}`,
  'missing index': `Rows that are there may be alike. ${migrate}`,
  'missing foreign key': `Rows that are there may refer to none. ${migrate}`,
  'looser column': migrate,
  'stricter column': `Rows that are there may hold null. ${migrate}`,
  'other type': migrate,
  'other key': migrate,
  'unknown column': migrate,
  'unknown search': migrate,
  'missing check': `Rows that are there may break the rule: correct them, or leave the constraint out by { check: false }. ${migrate}`,
  'other check': migrate,
  'renamed table': migrate,
  'renamed column': migrate,
  'other default': migrate,
  'unfilled column': `No row can be written while it must be filled. ${migrate}`,
}
