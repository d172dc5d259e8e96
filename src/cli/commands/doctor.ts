/**
 * `filigree doctor`: checks an application's configuration, or the settings that docs/production.md requires, and prints the
 * findings.
 */

import { statSync } from 'node:fs'
import { readHandlerAccess } from '../../auth/decorators.js'
import { minKeyLength } from '../../auth/gate.js'
import type { BootstrapOptions } from '../../bootstrap/options.js'
import { findPortProblem } from '../../bootstrap/port-problems.js'
import { PublicUrl } from '../../bootstrap/public-url.js'
import { type ApplicationPlan, planApplication } from '../../bootstrap/plan-application.js'
import { DeclarationError } from '../../errors/declaration-error.js'
import { fileOfAddress, isLocalAddress } from '../../engines/database-address.js'
import { shapeOf } from '../../fields/shape.js'
import { reachable } from '../../routing/route.js'
import { decoratorsOf } from '../../extensions/interceptor.js'
import { isSecretName } from '../../core/secrets.js'
import {
  type Finding,
  examineDatabase,
  examineDeclarations,
  examineMigrations,
  toFindings,
  examineSetup,
  findingsToJson,
  findingsToText,
  hasErrors,
  publicAccess,
} from './doctor-checks.js'
import { examineTrackedFiles } from './tracked-keys.js'
import { describePublicAccess } from '../../bootstrap/public-access.js'
import { findScans } from '../../records/scan-log.js'
import { defineCommand, flag, moduleOption, type Terminal } from '../command.js'
import { createPaint } from '../../core/paint.js'
import { loadApplication, type LoadedApplication, openForReading } from '../load-application.js'

export const doctorCommand = defineCommand({
  group: 'Check',
  usage: 'filigree doctor',
  summary: 'checks the configuration and lists what is public',
  description: `Checks Node.js, the compiler options, keys in tracked files, the declarations, keys, migrations, the database and its slow
queries, and lists what is open to everybody. It changes nothing. The exit code is 1 if something must be fixed.`,
  options: {
    production: flag('finds what stops a start in production, and checks its settings'),
    database: flag(
      'lists only queries of the last hour that read complete tables, with an index for each',
    ),
    module: moduleOption,
    json: flag(
      'prints a list of { about, state: "ok" | "note" | "fault", what, remedy, code, source }',
    ),
  },
  examples: ['filigree doctor', 'filigree doctor --production --module dist/main.js'],
  maxPositionals: 0,
  run: async ({ values }, terminal) => {
    const application = await loadApplication(values.module, terminal)
    if (values.database && !values.production) return await printScans(application, terminal)
    const findings = await diagnose(application, values.production, terminal)
    const paint = createPaint(terminal.hasColours)
    await terminal.out(values.json ? findingsToJson(findings) : findingsToText(findings, paint))
    return !hasErrors(findings)
  },
})

export function diagnose(
  application: LoadedApplication,
  production: boolean,
  terminal: Terminal,
): Promise<Finding[]> {
  return production ? examineProduction(application, terminal) : examineAll(application, terminal)
}

async function examineAll(application: LoadedApplication, terminal: Terminal): Promise<Finding[]> {
  const { options } = application
  const setup = [...(await examineSetup(terminal.cwd)), ...examineTrackedFiles(terminal.cwd)]
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

/** Finds what stops a start in production, checks the settings that it requires, and lists what is open to everybody. */
async function examineProduction(
  { module, options, path }: LoadedApplication,
  terminal: Terminal,
): Promise<Finding[]> {
  const { cwd } = terminal
  const env = { ...(options.env ?? process.env), NODE_ENV: 'production' }
  const productionOptions = { ...options, env, logger: false as const }
  try {
    // As a start does, which also reads the settings of `@Config` classes.
    const plan = await planApplication(module, productionOptions, { watchLog: (log) => log })
    return [
      { about: 'settings', state: 'ok', what: 'complete' },
      ...examineTrackedFiles(cwd),
      ...examineProductionSettings(plan, options),
      ...(await examineDatabase(plan, productionOptions, terminal)),
      ...(await examinePort(plan)),
      ...findPublicAccess(plan, productionOptions),
    ]
  } catch (error) {
    const errors = [...toFindings('settings', error, { cwd, path }), ...examineTrackedFiles(cwd)]
    // Development accepts missing settings, so that the other requirements can be checked.
    const tolerant = { ...productionOptions, env: { ...env, NODE_ENV: 'development' } }
    const plan = await planApplication(module, tolerant).catch(() => undefined)
    return plan === undefined
      ? errors
      : [
          ...errors,
          ...examineProductionSettings(plan, options),
          ...(await examineDatabase(plan, productionOptions, terminal)),
          ...(await examinePort(plan)),
          ...findPublicAccess(plan, options),
        ]
  }
}

async function examinePort({ settings }: ApplicationPlan): Promise<Finding[]> {
  if (!settings.listen) return []
  const about = 'port'
  const problem = await findPortProblem(settings)
  return problem === undefined
    ? [{ about, state: 'ok', what: `${settings.port} is free` }]
    : toFindings(about, new DeclarationError([problem]))
}

function findPublicAccess(plan: ApplicationPlan, options: BootstrapOptions): Finding[] {
  const open = describePublicAccess(plan, options)
  const about = publicAccess
  if (open.length === 0) return [{ about, state: 'ok', what: 'nothing' }]
  return open.map((what) => ({ about, state: 'note', what }))
}

async function printScans(
  { module, options }: LoadedApplication,
  terminal: Terminal,
): Promise<boolean> {
  const plan = await planApplication(module, { ...options, logger: false })
  const { database } = await openForReading(plan, options.database, terminal)
  try {
    const found = await findScans(database)
    const lines =
      found.length === 0
        ? ['No query of the last hour is known to have read a complete table.']
        : found
    await terminal.out(`${lines.join('\n')}\n`)
    return true
  } finally {
    await database.close()
  }
}

// The list of docs/production.md.

/** A setting that production requires. `met` and `missing` are the texts if it is set or not. */
interface Requirement {
  readonly about: string
  readonly isMet: boolean
  readonly met: string
  readonly missing: string
  readonly fix: string
}

/** @returns one finding for each requirement that can be checked without the database */
function examineProductionSettings(plan: ApplicationPlan, options: BootstrapOptions): Finding[] {
  const variables = options.env ?? process.env
  return requirementsOf(plan, options, variables).map(({ about, isMet, met, missing, fix }) =>
    isMet
      ? { about, state: 'ok', what: met }
      : { about, state: 'fault', what: missing, remedy: fix },
  )
}

function requirementsOf(
  plan: ApplicationPlan,
  options: BootstrapOptions,
  variables: Readonly<Record<string, string | undefined>>,
): Requirement[] {
  const { workers, docs, publicUrl } = plan.settings
  const { databaseUrl } = plan.environment
  const { trustProxy } = options
  const hasModule = (name: string): boolean =>
    plan.modules.some((module) => withoutNumber(module.name) === name)
  const imported = (name: string, from: string, missing: string): Requirement => ({
    about: name,
    isMet: hasModule(name),
    met: 'imported',
    missing,
    fix: `Import ${name}() from 'filigree/${from}'.`,
  })
  const hasDatabaseOption = options.database !== undefined
  const hasDatabase = databaseUrl !== undefined || hasDatabaseOption
  const sharesFile = workers > 1 && !hasDatabaseOption && isLocalAddress(databaseUrl ?? '')
  const apiKey = variables.APP_API_KEY?.trim() ?? ''
  const open = reachable(plan.routes).filter(({ access }) => access.open)
  const metrics = open.find(
    ({ route }) => withoutNumber(route.controller.name) === 'MetricsController',
  )
  const ignored = new Set([
    ...(plan.needsDatabase || plan.records.length > 0 ? [] : ['DATABASE_URL']),
    ...(plan.container.isNeeded(PublicUrl) ? [] : ['PUBLIC_URL']),
    ...(apiKey === '' ? ['APP_API_KEY'] : []),
  ])
  return [
    {
      about: 'NODE_ENV',
      isMet: variables.NODE_ENV === 'production',
      met: 'production',
      missing: `is ${variables.NODE_ENV ?? 'not set'}: clients see internal errors, and the start changes the schema`,
      fix: 'Set NODE_ENV=production.',
    },
    {
      about: 'DATABASE_URL',
      isMet: hasDatabase && !sharesFile,
      met: 'set',
      missing: hasDatabase
        ? `is a file, and ${workers} workers share it`
        : 'is not set: the database would be a file in the working directory',
      fix: 'Set DATABASE_URL to a server that all processes reach, or for one process to a file on a permanent disk.',
    },
    {
      about: 'PUBLIC_URL',
      isMet: publicUrl !== undefined,
      met: publicUrl ?? '',
      missing: 'is not set: links would lead to this machine, and production does not start',
      fix: 'Set PUBLIC_URL, or publicUrl of bootstrap, to the public address.',
    },
    {
      about: 'trustProxy',
      met: String(trustProxy),
      isMet: trustProxy !== undefined && trustProxy !== true,
      missing:
        trustProxy === true
          ? 'is true: clients can forge their address and so avoid limits by address'
          : 'is not set: behind a proxy all clients have its address',
      fix: 'Write the number of proxies in front of the application, or 0 if clients connect directly.',
    },
    {
      about: 'APP_API_KEY',
      isMet: apiKey.length >= minKeyLength,
      met: 'long enough',
      missing: `has ${apiKey.length} characters, so it can be guessed, and it allows everything`,
      fix: `Use ${minKeyLength} characters or more: openssl rand -hex 32.`,
    },
    imported('health', 'health', 'is not imported: platforms cannot probe the application'),
    {
      about: 'metrics',
      isMet: metrics === undefined || isOpenOnPurpose(metrics),
      met: hasModule('metrics') ? 'secured, or open on purpose' : 'not imported',
      missing: '/metrics is open to everybody',
      fix: "Write metrics({ secured: 'operator' }), or secured: false if only your own network reaches it.",
    },
    imported('accessLog', 'access-log', 'is not imported: requests are not logged'),
    {
      about: 'throttle',
      isMet: plan.providers.some(
        (provider) =>
          typeof provider === 'function' && withoutNumber(provider.name) === 'DatabaseCounters',
      ),
      met: 'counts in the database',
      missing: hasModule('throttle')
        ? 'counts in the memory of each process'
        : 'nothing limits requests',
      fix: "Import throttle({ limit: '100/m', store: 'database' }) from 'filigree/throttle'.",
    },
    imported('securityHeaders', 'security-headers', 'responses have no content security policy'),
    {
      about: 'documentation',
      isMet: docs?.access.open !== true || isDocsChoice(options.docs),
      met: docs === undefined ? 'off' : 'secured, or open on purpose',
      missing: 'the document of all routes can be read without a token',
      fix: 'Write docs: { secured: true }, docs: false, or docs: { secured: false } if it is public on purpose.',
    },
    ...signInsOf(open).map(({ name, isLimited }) => ({
      about: 'sign-in',
      isMet: isLimited,
      met: `${name} is limited`,
      missing: `${name} accepts a secret and has no limit for guesses`,
      fix: "Write @Throttle('5/m', { by: 'body.name' }) and @Throttle('20/m') before it, from 'filigree/throttle'.",
    })),
    ...readableFiles(databaseUrl).map((file) => ({
      about: 'database file',
      isMet: false,
      met: '',
      missing: `${file} can be read by other users of this machine`,
      fix: `Run chmod 600 ${file}.`,
    })),
  ].filter(({ about }) => !ignored.has(about))
}

/** The bundler adds numbers to names that occur more than once: `health2`. */
function withoutNumber(name: string): string {
  return name.replace(/\d+$/, '')
}

function isDocsChoice(docs: BootstrapOptions['docs']): boolean {
  return typeof docs === 'object' && docs.secured !== undefined
}

/** @returns open routes whose body has a secret, such as a password or code */
function signInsOf(
  open: readonly ApplicationPlan['routes'][number][],
): { name: string; isLimited: boolean }[] {
  return open.flatMap(({ route, info, classes: { body } }) => {
    if (route.method === 'GET' || body === undefined) return []
    if (!shapeOf(body.type).fields.some(({ name }) => isSecretName(name))) return []
    const isLimited = decoratorsOf(route.controller, route.member).includes('Throttle')
    return [{ name: `${route.method} ${info.path}`, isLimited }]
  })
}

/** The files of an embedded database that other users can read. Filigree creates them with mode 0600. */
function readableFiles(databaseUrl: string | undefined): string[] {
  const file = databaseUrl === undefined ? undefined : fileOfAddress(databaseUrl)
  if (file === undefined) return []
  return ['', '-wal', '-shm']
    .map((end) => file + end)
    .filter((path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o044) !== 0)
}

/** `metrics({ secured: false })` adds `@NoAuth`. Without it the route is open because every GET is. */
function isOpenOnPurpose({ route }: ApplicationPlan['routes'][number]): boolean {
  const { onMethod, onClass } = readHandlerAccess(route.controller, route.member)
  return (onMethod ?? onClass)?.open === true
}
