/** Checks an application's settings against the list of docs/production.md, without opening a port or the database. */
import { statSync } from 'node:fs'
import { readHandlerAccess } from '../../auth/decorators.js'
import { minKeyLength } from '../../auth/gate.js'
import type { BootstrapOptions } from '../../bootstrap/options.js'
import { PublicUrl } from '../../bootstrap/public-url.js'
import type { ApplicationPlan } from '../../bootstrap/plan-application.js'
import { fileOfAddress, isLocalAddress } from '../../engines/engine-for-url.js'
import { readShape } from '../../fields/shape.js'
import { reachable } from '../../routing/route.js'
import { decoratorsOf } from '../../extensions/interceptor.js'
import { isSecretName } from '../../core/secrets.js'
import type { Finding } from './doctor-checks.js'

interface Requirement {
  /** The name of the setting. */
  readonly about: string
  /** The text if the requirement is met. */
  readonly met: string
  /** The text if the requirement is not met. Undefined if it is met. */
  readonly missing: string | undefined
  readonly fix: string
}

/** @returns one finding for each requirement that can be checked without the database */
export function examineProductionSettings(
  plan: ApplicationPlan,
  options: BootstrapOptions,
): Finding[] {
  const variables = options.env ?? process.env
  return requirementsOf(plan, options, variables).map(({ about, met, missing, fix }) =>
    missing === undefined
      ? { about, state: 'ok', what: met }
      : { about, state: 'fault', what: missing, remedy: fix },
  )
}

function requirementsOf(
  plan: ApplicationPlan,
  options: BootstrapOptions,
  variables: Readonly<Record<string, string | undefined>>,
): Requirement[] {
  const has = (name: string): boolean =>
    plan.modules.some((module) => withoutNumber(module.name) === name)
  const unless = (isMet: boolean, missing: string): string | undefined =>
    isMet ? undefined : missing
  const { workers, docs } = plan.settings
  const { databaseUrl } = plan.environment
  const open = reachable(plan.routes).filter(({ access }) => access.open)
  const metrics = open.find(
    ({ route }) => withoutNumber(route.controller.name) === 'MetricsController',
  )
  const isProtected = metrics === undefined || isOpenOnPurpose(metrics)
  const limits = plan.providers.some(
    (provider) =>
      typeof provider === 'function' && withoutNumber(provider.name) === 'DatabaseCounters',
  )
  const hasDatabaseOption = options.database !== undefined
  const apiKey = variables.APP_API_KEY?.trim() ?? ''
  return [
    {
      about: 'NODE_ENV',
      met: 'production',
      missing: unless(
        variables.NODE_ENV === 'production',
        `is ${variables.NODE_ENV ?? 'not set'}: clients see internal errors, and the start changes the schema`,
      ),
      fix: 'Set NODE_ENV=production.',
    },
    ...(plan.needsDatabase || plan.records.length > 0
      ? [
          {
            about: 'DATABASE_URL',
            met: 'set',
            missing:
              databaseUrl === undefined && !hasDatabaseOption
                ? 'is not set: the database would be a file in the working directory'
                : unless(
                    workers === 1 || hasDatabaseOption || !isLocalAddress(databaseUrl ?? ''),
                    `is a file, and ${workers} workers share it`,
                  ),
            fix: 'Set DATABASE_URL to a server that all processes reach, or for one process to a file on a permanent disk.',
          },
        ]
      : []),
    ...(plan.container.needs(PublicUrl)
      ? [
          {
            about: 'PUBLIC_URL',
            met: plan.settings.publicUrl ?? '',
            missing: unless(
              plan.settings.publicUrl !== undefined,
              'is not set: links would lead to this machine, and production does not start',
            ),
            fix: 'Set PUBLIC_URL, or publicUrl of bootstrap, to the public address.',
          },
        ]
      : []),
    {
      about: 'trustProxy',
      met: String(options.trustProxy),
      missing:
        options.trustProxy === true
          ? 'is true: clients can forge their address and so avoid limits by address'
          : unless(
              options.trustProxy !== undefined,
              'is not set: behind a proxy all clients have its address',
            ),
      fix: 'Write the number of proxies in front of the application, or 0 if clients connect directly.',
    },
    ...(apiKey === ''
      ? []
      : [
          {
            about: 'APP_API_KEY',
            met: 'long enough',
            missing: unless(
              apiKey.length >= minKeyLength,
              `has ${apiKey.length} characters, so it can be guessed, and it allows everything`,
            ),
            fix: `Use ${minKeyLength} characters or more: openssl rand -hex 32.`,
          },
        ]),
    {
      about: 'health',
      met: 'imported',
      missing: unless(has('health'), 'is not imported: platforms cannot probe the application'),
      fix: "Import health() from 'filigree/health'.",
    },
    {
      about: 'metrics',
      met: has('metrics') ? 'secured, or open on purpose' : 'not imported',
      missing: unless(isProtected, '/metrics is open to everybody'),
      fix: "Write metrics({ secured: 'operator' }), or secured: false if only your own network reaches it.",
    },
    {
      about: 'accessLog',
      met: 'imported',
      missing: unless(has('accessLog'), 'is not imported: requests are not logged'),
      fix: "Import accessLog() from 'filigree/access-log'.",
    },
    {
      about: 'throttle',
      met: 'counts in the database',
      missing: unless(
        limits,
        has('throttle') ? 'counts in the memory of each process' : 'nothing limits requests',
      ),
      fix: "Import throttle({ limit: '100/m', store: 'database' }) from 'filigree/throttle'.",
    },
    {
      about: 'securityHeaders',
      met: 'imported',
      missing: unless(has('securityHeaders'), 'responses have no content security policy'),
      fix: "Import securityHeaders() from 'filigree/security-headers'.",
    },
    {
      about: 'documentation',
      met: docs === undefined ? 'off' : 'secured, or open on purpose',
      missing: unless(
        docs?.access.open !== true || isDocsChoice(options.docs),
        'everybody can read the document of all routes',
      ),
      fix: 'Write docs: { secured: true }, docs: false, or docs: { secured: false } if everybody may read it.',
    },
    ...signInsOf(open).map(({ name, isLimited }) => ({
      about: 'sign-in',
      met: `${name} is limited`,
      missing: unless(isLimited, `${name} accepts a secret and has no limit for guesses`),
      fix: "Write @Throttle('5/m', { by: 'body.name' }) and @Throttle('20/m') before it, from 'filigree/throttle'.",
    })),
    ...readableFiles(databaseUrl).map((file) => ({
      about: 'database file',
      met: '',
      missing: `${file} can be read by other users of this machine`,
      fix: `Run chmod 600 ${file}.`,
    })),
  ]
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
    if (!readShape(body.type, []).fields.some(({ name }) => isSecretName(name))) return []
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
