/** Runs the queries of the tools against the application, which is loaded and not started. */
import { planApplication, type ApplicationPlan } from '../../bootstrap/plan-application.js'
import { methods } from '../../routing/route-table.js'
import { describeRecords, listRoutes } from '../describe-application.js'
import { Redactor } from '../dev/redactor.js'
import { diagnose } from '../commands/doctor.js'
import { explainOperation } from '../commands/explain-graphql.js'
import { explainRoute } from '../commands/explain-route.js'
import { isJobRecord, openForReading } from '../open-database.js'
import { loadApplication, type LoadedApplication } from '../load-application.js'
import { UsageError, type Terminal } from '../command.js'
import { withoutPasswords } from '../dev/secret-patterns.js'
import type { ApplicationQuery } from './tool.js'

/** @returns the result without secrets */
export async function answerQuery(
  query: ApplicationQuery,
  module: string | undefined,
  terminal: Terminal,
): Promise<unknown> {
  const redactor = new Redactor(process.env)
  const loaded = await loadApplication(module, terminal)
  if (query.about === 'doctor')
    return withoutSecrets(await diagnose(loaded, query.production, terminal), redactor)
  const plan = await planApplication(loaded.module, { ...loaded.options, logger: false })
  redactor.learn(plan.records.filter((type) => !isJobRecord(type)))
  return withoutSecrets(await queryPlan(query, { plan, loaded, terminal }), redactor)
}

interface Planned {
  readonly plan: ApplicationPlan
  readonly loaded: LoadedApplication
  readonly terminal: Terminal
}

function queryPlan(
  query: Exclude<ApplicationQuery, { about: 'doctor' }>,
  { plan, loaded, terminal }: Planned,
): unknown {
  switch (query.about) {
    case 'routes':
      return listRoutes(plan)
    case 'records':
      return describeRecords(plan)
    case 'route': {
      const method = query.method.toUpperCase()
      if (!['HEAD', ...methods].includes(method))
        throw new UsageError(`${query.method} is no method. Methods: ${methods.join(', ')}.`)
      return explainRoute(plan, method, query.path.replace(/[?#].*$/s, ''), query.as)
    }
    case 'operation': {
      const open = () => openForReading(plan, loaded.options.database, terminal)
      return explainOperation(plan, query.query, query.as, open)
    }
  }
}

/** Redacts all texts of a value, except the names of its members. */
function withoutSecrets(value: unknown, redactor: Redactor, name = ''): unknown {
  if (typeof value === 'string') {
    const redacted = name === 'sql' ? redactor.sql(value, false) : redactor.text(value)
    return withoutPasswords(redacted)
  }
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, redactor, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withoutSecrets(one, redactor, key)]),
  )
}
