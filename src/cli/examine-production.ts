/** Holds an application's settings against the list of docs/production.md. It opens no port and asks no database. */
import { accessNotes } from '../auth/decorators.js'
import type { BootstrapOptions } from '../bootstrap/options.js'
import { PublicUrl } from '../bootstrap/public-url.js'
import type { ApplicationPlan } from '../bootstrap/plan-application.js'
import { isLocalAddress } from '../engines/engine-for-url.js'
import { reachable } from '../routing/route.js'
import type { Finding } from './findings.js'

interface Line {
  /** The setting's name. */
  readonly about: string
  /** What is said where it is met. */
  readonly met: string
  /** What is said where it is not; undefined where it is. */
  readonly missing: string | undefined
  readonly remedy: string
}

/** One finding for each line of the page that can be looked at from here. */
export function examineList(plan: ApplicationPlan, options: BootstrapOptions): Finding[] {
  const variables = options.env ?? process.env
  return linesOf(plan, options, variables).map(({ about, met, missing, remedy }) =>
    missing === undefined
      ? { about, state: 'ok', what: met }
      : { about, state: 'fault', what: missing, remedy },
  )
}

function linesOf(
  plan: ApplicationPlan,
  options: BootstrapOptions,
  variables: Readonly<Record<string, string | undefined>>,
): Line[] {
  // The bundler numbers the functions of modules, whose names occur twice in their files: `health2`.
  const has = (name: string): boolean =>
    plan.modules.some((module) => module.name.replace(/\d+$/, '') === name)
  const unless = (isMet: boolean, missing: string): string | undefined =>
    isMet ? undefined : missing
  const { workers, docs, static: folders } = plan.settings
  const { databaseUrl } = plan.environment
  const open = reachable(plan.routes).filter(({ access }) => access.open)
  const metrics = open.find(({ info }) => info.name === 'MetricsController.read')
  const isMeant = metrics === undefined || isOpenOnPurpose(metrics)
  const hasPages = docs?.pageAccess !== undefined || Object.keys(folders).length > 0
  const limits = plan.providers.some(
    (provider) => typeof provider === 'function' && provider.name === 'DatabaseCounters',
  )
  const ownDatabase = options.database !== undefined
  return [
    {
      about: 'NODE_ENV',
      met: 'production',
      missing: unless(
        variables.NODE_ENV === 'production',
        `is ${variables.NODE_ENV ?? 'not set'}: errors are not masked, and the schema is changed at the start`,
      ),
      remedy: 'Set NODE_ENV=production.',
    },
    ...(plan.needsDatabase || plan.records.length > 0
      ? [
          {
            about: 'DATABASE_URL',
            met: 'set',
            missing:
              databaseUrl === undefined && !ownDatabase
                ? 'is not set: the database would be a file in the working directory'
                : unless(
                    workers === 1 || ownDatabase || !isLocalAddress(databaseUrl ?? ''),
                    `is a file, and ${workers} workers share it`,
                  ),
            remedy:
              'Set DATABASE_URL to a server that all processes reach, or for one process to a file on a disk that stays.',
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
              'is not set: links would lead to loopback, and production does not start',
            ),
            remedy: 'Set PUBLIC_URL, or publicUrl of bootstrap, to the address that people type.',
          },
        ]
      : []),
    {
      about: 'trustProxy',
      met: String(options.trustProxy),
      missing: unless(
        options.trustProxy !== undefined,
        'is not set: behind a proxy all clients have its address',
      ),
      remedy: 'Give the number of proxies in front, or 0 where clients connect directly.',
    },
    {
      about: 'health',
      met: 'imported',
      missing: unless(has('health'), 'nobody can probe it'),
      remedy: "Import health() from 'filigree/health'.",
    },
    {
      about: 'metrics',
      met: has('metrics') ? 'secured, or open on purpose' : 'not imported',
      missing: unless(isMeant, '/metrics is open to everybody'),
      remedy:
        "Write metrics({ secured: 'operator' }), or secured: false where only insiders reach it.",
    },
    {
      about: 'accessLog',
      met: 'imported',
      missing: unless(has('accessLog'), 'requests leave no line'),
      remedy: "Import accessLog() from 'filigree/access-log'.",
    },
    {
      about: 'throttle',
      met: 'counts in the database',
      missing: unless(
        limits,
        has('throttle') ? 'counts in the memory of each process' : 'nothing limits requests',
      ),
      remedy: "Import throttle({ limit: '100/m', store: 'database' }) from 'filigree/throttle'.",
    },
    ...(hasPages
      ? [
          {
            about: 'securityHeaders',
            met: 'imported',
            missing: unless(
              has('securityHeaders'),
              'pages go out without a content security policy',
            ),
            remedy: "Import securityHeaders() from 'filigree/security-headers'.",
          },
        ]
      : []),
  ]
}

/** `metrics({ secured: false })` is `@NoAuth`; without it the route is open as every GET. */
function isOpenOnPurpose({ route }: ApplicationPlan['routes'][number]): boolean {
  const { onMethod, onClass } = accessNotes(route.controller, route.member)
  return (onMethod ?? onClass)?.open === true
}
