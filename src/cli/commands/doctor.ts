/** `filigree doctor`: checks an application's configuration and prints the findings. */
import { openDoors } from '../../bootstrap/public-access.js'
import type { BootstrapOptions } from '../../bootstrap/options.js'
import { planApplication, type ApplicationPlan } from '../../bootstrap/plan-application.js'
import { findScans } from '../../records/scan-log.js'
import { createPaint } from '../colours.js'
import { type Command, exitCodes, moduleOption, readArguments, type Terminal } from '../command.js'
import {
  examineDatabase,
  examineDeclarations,
  examineMigrations,
  toFindings,
  examineSetup,
  findingsToJson,
  findingsToText,
  hasErrors,
  publicAccess,
  type Finding,
} from './doctor-checks.js'
import { examineProductionSettings } from './doctor-production.js'
import { loadApplication, type LoadedApplication } from '../load-application.js'
import { openForReading } from '../open-database.js'

const flags = {
  production: {
    type: 'boolean',
    help: 'checks the settings that production requires, without the database',
  },
  database: {
    type: 'boolean',
    help: 'lists only queries of the last hour that read complete tables, with an index for each',
  },
  module: moduleOption,
  json: {
    type: 'boolean',
    help: 'prints a list of { about, state: "ok" | "note" | "fault", what, remedy, code, source }',
  },
} as const

export const doctorCommand: Command = {
  group: 'Check',
  usage: 'filigree doctor',
  summary: 'checks the configuration and lists what is public',
  description: `Checks Node.js, the compiler options, the declarations, keys, migrations, the database and its slow queries, and lists what is
open to everybody. It changes nothing. The exit code is 1 if something must be fixed.`,
  options: flags,
  examples: ['filigree doctor', 'filigree doctor --production --module dist/main.js'],
  run,
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values } = readArguments(args, flags, 0)
  const application = await loadApplication(values.module, terminal)
  if (values.database && !values.production) return await printScans(application, terminal)
  const findings = await diagnose(application, values.production, terminal)
  const paint = createPaint(terminal.hasColours)
  await terminal.out(values.json ? findingsToJson(findings) : findingsToText(findings, paint))
  return hasErrors(findings) ? exitCodes.failed : exitCodes.done
}

export function diagnose(
  application: LoadedApplication,
  production: boolean,
  terminal: Terminal,
): Promise<Finding[]> {
  return production ? examineProduction(application, terminal) : examineAll(application, terminal)
}

async function examineAll(application: LoadedApplication, terminal: Terminal): Promise<Finding[]> {
  const { options } = application
  const setup = await examineSetup(terminal.cwd)
  const { plan, findings } = await examineDeclarations(application, terminal)
  if (plan === undefined) return [...setup, ...findings]
  return [
    ...setup,
    ...findings,
    ...(await examineMigrations(plan, options, terminal)),
    ...(await examineDatabase(plan, options, terminal)),
    ...findPublicAccess(plan, options),
  ]
}

/** Checks the settings that production requires, and lists what is open to everybody. */
async function examineProduction(
  { module, options, path }: LoadedApplication,
  { cwd }: Terminal,
): Promise<Finding[]> {
  const env = { ...(options.env ?? process.env), NODE_ENV: 'production' }
  const productionOptions = { ...options, env, logger: false as const }
  try {
    const plan = await planApplication(module, productionOptions)
    return [
      { about: 'settings', state: 'ok', what: 'complete' },
      ...examineProductionSettings(plan, options),
      ...findPublicAccess(plan, productionOptions),
    ]
  } catch (error) {
    const errors = toFindings('settings', error, { cwd, path })
    // Development accepts missing settings, so that the other requirements can be checked.
    const tolerant = { ...productionOptions, env: { ...env, NODE_ENV: 'development' } }
    const plan = await planApplication(module, tolerant).catch(() => undefined)
    return plan === undefined
      ? errors
      : [...errors, ...examineProductionSettings(plan, options), ...findPublicAccess(plan, options)]
  }
}

function findPublicAccess(plan: ApplicationPlan, options: BootstrapOptions): Finding[] {
  const open = openDoors(plan, options)
  const about = publicAccess
  if (open.length === 0) return [{ about, state: 'ok', what: 'nothing' }]
  return open.map((what) => ({ about, state: 'note', what }))
}

async function printScans(
  { module, options }: LoadedApplication,
  terminal: Terminal,
): Promise<number> {
  const plan = await planApplication(module, { ...options, logger: false })
  const { database } = await openForReading(plan, options.database, terminal)
  try {
    const found = await findScans(database)
    const lines =
      found.length === 0
        ? ['No query of the last hour is known to have read a complete table.']
        : found
    await terminal.out(`${lines.join('\n')}\n`)
    return exitCodes.done
  } finally {
    await database.close()
  }
}
