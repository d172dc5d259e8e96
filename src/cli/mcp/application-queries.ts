/** Answers what only the application itself knows: it is loaded, and not started. */
import { planApplication, type ApplicationPlan } from '../../bootstrap/plan-application.js'
import { methods } from '../../routing/route-table.js'
import { describeRecords, listRoutes } from '../describe-application.js'
import { Redactor } from '../dev/redactor.js'
import { diagnose } from '../commands/doctor.js'
import { explainOperation } from '../commands/explain-graphql.js'
import { explainRoute } from '../commands/explain-route.js'
import { isJobs, openForReading } from '../open-database.js'
import { loadApplication, type LoadedApplication } from '../load-application.js'
import { UsageError, type Terminal } from '../command.js'
import { withoutPasswords } from '../dev/secret-patterns.js'
import type { Question } from './tool.js'

/** @returns a value without secrets */
export async function answerQuestion(
  question: Question,
  module: string | undefined,
  terminal: Terminal,
): Promise<unknown> {
  const redactor = new Redactor(process.env)
  const loaded = await loadApplication(module, terminal)
  if (question.about === 'doctor')
    return withoutSecrets(await diagnose(loaded, question.production, terminal), redactor)
  const plan = await planApplication(loaded.module, { ...loaded.options, logger: false })
  redactor.learn(plan.records.filter((type) => !isJobs(type)))
  return withoutSecrets(await answerFromPlan(question, { plan, loaded, terminal }), redactor)
}

interface Planned {
  readonly plan: ApplicationPlan
  readonly loaded: LoadedApplication
  readonly terminal: Terminal
}

function answerFromPlan(
  question: Exclude<Question, { about: 'doctor' }>,
  { plan, loaded, terminal }: Planned,
): unknown {
  switch (question.about) {
    case 'routes':
      return listRoutes(plan)
    case 'records':
      return describeRecords(plan)
    case 'route': {
      const method = question.method.toUpperCase()
      if (!['HEAD', ...methods].includes(method))
        throw new UsageError(`${question.method} is no method. Methods: ${methods.join(', ')}.`)
      return explainRoute(plan, method, question.path.replace(/[?#].*$/s, ''), question.as)
    }
    case 'operation': {
      const open = () => openForReading(plan, loaded.options.database, terminal)
      return explainOperation(plan, question.query, question.as, open)
    }
  }
}

/** All its texts, names of members left as they are. */
function withoutSecrets(value: unknown, redactor: Redactor, name = ''): unknown {
  if (typeof value === 'string') {
    const shown = name === 'sql' ? redactor.sql(value, false) : redactor.text(value)
    return withoutPasswords(shown)
  }
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, redactor, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withoutSecrets(one, redactor, key)]),
  )
}
