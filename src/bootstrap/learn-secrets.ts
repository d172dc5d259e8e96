/** Collects the classes whose hidden and secured fields are secrets of the application. */
import type { Class } from '../metadata/class.js'
import { readRecord } from '../records/model/record.js'
import type { Redactor } from '../serving/redaction/redactor.js'
import type { PlannedRoute } from '../serving/planned-route.js'

interface DescribedClasses {
  readonly records: readonly Class[]
  readonly routes: readonly PlannedRoute[]
}

/** Makes the redactor hide the values of hidden and secured fields of records, bodies and queries. */
export function learnSecrets(redactor: Redactor, { records, routes }: DescribedClasses): void {
  const inputs = routes.flatMap(({ classes: { body, query } }) =>
    [body, query].flatMap((input) => (input === undefined ? [] : [input.type])),
  )
  // The hidden fields of jobs belong to the framework and are not secrets of the application.
  redactor.learn([...records.filter((type) => !isJobRecord(type)), ...inputs])
}

/** @returns true for the record of `filigree/jobs` */
export function isJobRecord(type: Class): boolean {
  return type.name === 'JobEntry' && readRecord(type)?.table === 'jobs'
}
