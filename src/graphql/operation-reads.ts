/** Where operations read, of a database with replicas: queries alone may see what is some moments old. */
import type { Database } from '../records/database.js'
import { hasReplicas, readAsOf } from '../records/request-caller.js'
import { callerOf } from './caller.js'
import type { ExecutorOptions } from './executor.js'

/** @returns what is told of each operation before it runs; `undefined` where all reads are alike */
export function operationReads(database: Database | undefined): ExecutorOptions['onRun'] {
  if (database === undefined || !hasReplicas(database)) return undefined
  return (type: string, context) => {
    // A mutation shows what it wrote, a subscription what has just happened.
    readAsOf(type === 'query' ? 'soon' : 'now', callerOf(context).request, database)
  }
}
