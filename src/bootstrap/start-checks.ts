/**
 * Checks at the start of an application: warnings about its routes, and packages that it needs but that are not
 * installed.
 */
import { createRequire } from 'node:module'
import { asProblems, type Problem } from '../errors/declaration-error.js'
import { missingPackage, type MissingPackage } from '../errors/missing-package.js'
import { findSlowPatterns } from '../fields/pattern-cost.js'
import { readShape } from '../fields/shape.js'
import type { Log } from '../core/log.js'
import type { Class } from '../metadata/class.js'
import { findRouteWarnings } from '../routing/route.js'
import type { Settings } from './options.js'
import type { PlannedRoute } from '../serving/planned-route.js'

interface FindPackagesOptions {
  /**
   * True: the packages are loaded, which also finds packages that cannot run here. False: they are only resolved, which
   * is faster.
   */
  readonly loads: boolean
}

export async function findMissingPackages(
  packages: readonly MissingPackage[],
  { loads }: FindPackagesOptions,
): Promise<Problem[]> {
  const byName = new Map(packages.map((each) => [each.name, each]))
  const attempt = loads ? load : resolvePackage
  const found = await Promise.all([...byName.values()].map((each) => failureOf(each, attempt)))
  return found.flat()
}

async function failureOf(
  required: MissingPackage,
  attempt: (name: string) => unknown,
): Promise<readonly Problem[]> {
  try {
    await attempt(required.name)
    return []
  } catch (cause) {
    return asProblems(missingPackage(required, cause).problems)
  }
}

function load(name: string): Promise<unknown> {
  return import(name)
}

function resolvePackage(name: string): void {
  try {
    createRequire(import.meta.url).resolve(name)
  } catch (error) {
    // Other errors mean that the package exists, but only for `import`.
    if (String((error as { code?: unknown }).code).endsWith('NOT_FOUND')) throw error
  }
}

/** Warns of routes that no request reaches, bodies without checks, and patterns that clients could make slow. */
export function logStartWarnings(
  planned: readonly PlannedRoute[],
  settings: Pick<Settings, 'trustProxy'>,
  log: Log,
): void {
  const routes = planned.map(({ route }) => route)
  const warnings = [
    ...findSlowInputPatterns(planned),
    ...findRouteWarnings(routes),
    ...findProxyWarnings(settings),
    ...findIneffectiveNoAuth(planned),
  ]
  // Classes that are generated from one class have its name, and its warnings.
  const codes = new Map(warnings.map(({ code, message, remedy }) => [`${message} ${remedy}`, code]))
  for (const [text, code] of codes) log.warn({ code }, text)
}

/** Finds `@NoAuth` on controllers of records that require more: it has no effect. */
function findIneffectiveNoAuth(planned: readonly PlannedRoute[]): Problem[] {
  const found = new Map<Class, { readonly record: string; readonly routes: readonly string[] }>()
  for (const { route, closedBy: record } of planned) {
    if (record === undefined) continue
    const before = found.get(route.controller)?.routes ?? []
    const routes = [...before, `${route.method} ${route.pattern.text}`]
    found.set(route.controller, { record, routes })
  }
  return [...found].map(([{ name }, { record, routes }]) => ({
    code: 'ACCESS_IN_VAIN',
    message: `${name} is @NoAuth, but ${record} has an access rule of its own, so these routes still need a token: ${routes.join(', ')}.`,
    remedy: `Remove @NoAuth from ${name}, or change @Secured or writes of ${record}.`,
  }))
}

function findProxyWarnings({ trustProxy }: Pick<Settings, 'trustProxy'>): Problem[] {
  if (trustProxy !== true) return []
  return [
    {
      code: 'PROXY_TRUSTED_LEFT',
      message:
        'bootstrap: trustProxy is true, so request.ip is the leftmost entry of X-Forwarded-For.',
      remedy: 'A client can forge it. Write the number of proxies in front: trustProxy: 1.',
    },
  ]
}

/** Only patterns of bodies and queries, because other input is not matched against patterns. */
function findSlowInputPatterns(planned: readonly PlannedRoute[]): Problem[] {
  const inputs = planned.flatMap(({ classes }) => [classes.body?.type, classes.query?.type])
  const types = new Set(inputs.filter((type) => type !== undefined))
  return findSlowPatterns([...types].map((type) => readShape(type)))
}
