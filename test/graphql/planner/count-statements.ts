/** Counts the statements that a database receives. */
import type { Engine, Runner, Statement } from '../../../src/engines/contract/engine.js'
import type { Database } from '../../../src/index.js'
import { engineOf } from '../../records/open-database.js'

type Writable = Engine & { clientReads?: Engine['clientReads'] | undefined }

/** @returns the result of the work, and every statement that it ran outside transactions */
export async function countStatements<T>(
  database: Database,
  work: () => Promise<T>,
): Promise<{ result: T; count: number; statements: Statement[] }> {
  const engine: Writable = engineOf(database)
  const statements: Statement[] = []
  const count = (runner: Runner): void => {
    const run = runner.run.bind(runner)
    runner.run = (statement, values, returns) => {
      if (returns === 'rows' || returns === 'first') statements.push(statement)
      return run(statement, values, returns)
    }
  }
  count(engine)
  // Reads of new requests use a separate runner.
  const clientReads = engine.clientReads?.bind(engine)
  if (clientReads !== undefined) {
    engine.clientReads = (reading) => {
      const runner = clientReads(reading)
      count(runner)
      return runner
    }
  }
  try {
    const result = await work()
    return { result, count: statements.length, statements }
  } finally {
    // Deletes the instance's property, which hides the method of the class.
    Reflect.deleteProperty(engine, 'run')
    engine.clientReads = clientReads
  }
}
