/** `filigree routes`: what an application answers, and to whom. */
import { openAccess, type AccessRule } from '../auth/access.js'
import { planApplication, type ApplicationPlan } from '../bootstrap/plan-application.js'
import { isOfPackage } from '../bootstrap/module.js'
import { describeOpenRecords, documentedRecords, openRecords } from '../bootstrap/open-records.js'
import type { DocumentedRecords } from '../openapi/document.js'
import { reachable } from '../routing/route.js'
import { type Command, exitCodes, type Terminal, readArguments, toTable } from './command.js'
import { describeAccess, type DescribedAccess } from './describe-records.js'
import { loadApplication } from './load-application.js'

const usage = `filigree routes [module.js] [--json]
  Lists what an application answers, and who may ask: its own routes first, then those of packages and of the
  framework. Nothing is started.
  --json            a list of { method, path, name, access, roles, of } on standard output`

export const routesCommand: Command = {
  usage,
  summary: 'what the application answers, and to whom',
  run,
}

/** A row of the list. */
export interface ListedRoute extends DescribedAccess {
  readonly method: string
  readonly path: string
  /** `ItemController.show`, or what the framework calls it. */
  readonly name: string
  /** Whose it is. */
  readonly of: 'application' | 'package' | 'framework'
  /** Of GraphQL's queries: the records that callers without a sign-in can read. */
  readonly records?: DocumentedRecords
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, words } = readArguments(args, { json: 'switch' })
  const { module, options } = await loadApplication(words[0], terminal)
  const plan = await planApplication(module, { ...options, logger: false })
  const listed = listRoutes(plan)
  const open = describeOpenRecords(openRecords(plan))
  const text = (): string => `${toText(listed)}${open === '' ? '' : `\n${open}\n`}`
  await terminal.out(values.json ? `${JSON.stringify(listed, null, 2)}\n` : text())
  return exitCodes.done
}

/** The application's own routes first, in the order of their declaration. */
export function listRoutes(plan: ApplicationPlan): ListedRoute[] {
  const declared = reachable(plan.routes).map(({ route, access }): ListedRoute => {
    const of = isOfPackage(route.controller) ? 'package' : 'application'
    return {
      method: route.method,
      path: route.pattern.text,
      name: route.name,
      ...describeAccess(access),
      of,
    }
  })
  const prefix = plan.settings.basePath
  const graphql = plan.graphql.instances.flatMap(({ routes, ide }) =>
    routes.flatMap(({ path, access }) => [
      ...listedGraphql('POST', `${prefix}${path}`, 'GraphQL: mutations', access.write),
      ...listedGraphql('POST', `${prefix}${path}`, 'GraphQL: queries', access.read).map((one) => ({
        ...one,
        records: documentedRecords(plan),
      })),
      ...(ide ? listedGraphql('GET', `${prefix}${path}`, 'GraphQL: the IDE', undefined) : []),
    ]),
  )
  return [
    ...declared.filter(({ of }) => of === 'application'),
    ...declared.filter(({ of }) => of === 'package'),
    ...graphql,
  ]
}

function listedGraphql(
  method: string,
  path: string,
  name: string,
  access: AccessRule | undefined,
): ListedRoute[] {
  const who = describeAccess(access ?? openAccess)
  return [{ method, path, name, ...who, of: 'framework' }]
}

function toText(listed: readonly ListedRoute[]): string {
  if (listed.length === 0) return 'The application has no routes.\n'
  const rows = listed.map(({ method, path, name, words }) => [method, path, name, words])
  return toTable([['METHOD', 'PATH', 'HANDLER', 'WHO'], ...rows])
}
