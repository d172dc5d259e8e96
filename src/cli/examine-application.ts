/** Looks at an application that is not started: its declarations, keys, database, migrations, slow queries. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { BootstrapOptions } from '../bootstrap/options.js'
import { planApplication, type ApplicationPlan } from '../bootstrap/plan-application.js'
import { logStartWarnings } from '../bootstrap/start-warnings.js'
import { silentLog } from '../core/log.js'
import { DeclarationError } from '../errors/declaration-error.js'
import type { Class } from '../metadata/note.js'
import type { Database } from '../records/database.js'
import { checkMigrations } from '../records/migrations/check-migrations.js'
import { findUncovered } from '../records/migrations/migration-base.js'
import { readTables } from '../records/model/read-table.js'
import { findScans } from '../records/scans/find-scans.js'
import { reachable } from '../routing/route.js'
import type { Finding } from './findings.js'
import { engineInUse, openForReading, type ReadDatabase } from './open-database.js'
import { readEngines } from './package-settings.js'
import type { Terminal } from './terminal.js'

export interface ExaminedApplication {
  readonly findings: readonly Finding[]
  /** Undefined where its declarations are faulty. */
  readonly plan: ApplicationPlan | undefined
}

/** Its declarations, with the settings that a start would read. */
export async function examineDeclarations(
  module: Class,
  options: BootstrapOptions,
): Promise<ExaminedApplication> {
  try {
    const plan = await planApplication(module, { ...options, logger: false })
    const { records } = plan
    const routes = reachable(plan.routes)
    const what = `${routes.length} routes, ${records.length} records`
    const warnings: Finding[] = []
    const warn = (_details: object, text: string): void => {
      warnings.push({ about: 'routes', state: 'note', what: text })
    }
    logStartWarnings(routes, plan.settings, { ...silentLog, warn })
    return {
      plan,
      findings: [{ about: 'declarations', state: 'ok', what }, ...warnings, examineKeys(plan)],
    }
  } catch (error) {
    return { plan: undefined, findings: toFaults('declarations', error) }
  }
}

/** A report has a fault for each of its problems. */
export function toFaults(about: string, error: unknown): Finding[] {
  if (error instanceof DeclarationError)
    return error.problems.map(({ message, remedy }) => ({
      ...{ about, state: 'fault' as const, what: message },
      remedy,
    }))
  const what = error instanceof Error ? error.message : String(error)
  return [{ about, state: 'fault', what }]
}

function examineKeys({ authOptions }: ApplicationPlan): Finding {
  const { keys } = authOptions
  const about = 'keys'
  switch (keys.from) {
    case 'given':
      return {
        ...{ about, state: 'ok' },
        what:
          keys.private === undefined ? 'tokens are checked only' : 'tokens are made and checked',
      }
    case 'jwks':
      return { about, state: 'ok', what: `tokens are checked by the keys of ${keys.url}` }
    case 'folder': {
      const what = `a pair for development, in ${keys.folder}`
      return { about, state: 'note', what, remedy: 'Production needs its own: filigree keys.' }
    }
    case 'none':
      return { about, state: 'note', what: 'there are no tokens: auth.keys is false' }
  }
}

/** Its migrations, as files. */
export async function examineMigrations(
  plan: ApplicationPlan,
  options: BootstrapOptions,
  { cwd }: Pick<Terminal, 'cwd'>,
): Promise<Finding[]> {
  const folder = join(cwd, 'migrations')
  const about = 'migrations'
  if (plan.records.length === 0) return []
  if (!existsSync(folder)) {
    const remedy = 'Production runs nothing else: filigree migrate make first.'
    return [{ about, state: 'note', what: 'there are none', remedy }]
  }
  try {
    const engines = await readEngines(cwd)
    const found = await checkMigrations(readTables(plan.records, []), { folder, engines })
    const engine = engineInUse(plan, options.database)
    const uncovered =
      engine === undefined ? undefined : await findUncovered(folder, engine, engines)
    const remedy = 'Write one: filigree migrate make <name>.'
    const notes = [
      ...found.map((what) => ({ what, remedy })),
      ...(uncovered === undefined ? [] : [uncovered]),
    ]
    if (notes.length === 0) return [{ about, state: 'ok', what: 'they fit the records' }]
    return notes.map((note) => ({ about, state: 'note', ...note }))
  } catch (error) {
    return toFaults(about, error)
  }
}

/** The database itself: whether it answers, and queries of the last hour that read whole tables. */
export async function examineDatabase(
  plan: ApplicationPlan,
  options: BootstrapOptions,
  terminal: Terminal,
): Promise<Finding[]> {
  const about = 'database'
  if (!plan.needsDatabase && plan.records.length === 0 && options.database === undefined)
    return [{ about, state: 'ok', what: 'none is needed' }]
  let opened: ReadDatabase
  try {
    opened = await openForReading(plan, options.database, terminal)
  } catch (error) {
    return toFaults(about, error)
  }
  const { database, isMissing } = opened
  try {
    if (isMissing) {
      const what = 'its file is not there yet'
      return [{ about, state: 'note', what, remedy: 'The first start makes it.' }]
    }
    return [
      { about, state: 'ok', what: database.driverName },
      ...(await examineScans(database)),
      ...(await plan.examine(database)).map((what): Finding => ({
        about: 'packages',
        state: 'note',
        what,
      })),
    ]
  } catch (error) {
    return toFaults(about, error)
  } finally {
    await database.close()
  }
}

async function examineScans(database: Database): Promise<Finding[]> {
  const scans = await findScans(database)
  if (scans.length > 0)
    return scans.map((what) => ({ about: 'indexes', state: 'note' as const, what }))
  const what = 'no query of the last hour is known to have read a whole table'
  return [{ about: 'indexes', state: 'ok', what }]
}
