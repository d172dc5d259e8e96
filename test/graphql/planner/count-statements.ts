/** Counts the statements that a database receives. */
import type { Engine, Runner, Statement } from '../../../src/engines/contract/engine.js'
import type { Database } from '../../../src/index.js'
import { engineOf } from '../../records/open-database.js'

type Replaceable = { -readonly [Name in 'run' | 'requests']: Engine[Name] }

/** @returns the result of the work, and every statement that it ran outside transactions */
export async function countStatements<T>(
  database: Database,
  work: () => Promise<T>,
): Promise<{ result: T; count: number; statements: Statement[] }> {
  const engine: Replaceable = engineOf(database)
  const statements: Statement[] = []
  const counted = (runner: Runner): Runner => {
    const run = runner.run.bind(runner)
    return {
      run: (statement, values, returns) => {
        if (returns === 'rows' || returns === 'first') statements.push(statement)
        return run(statement, values, returns)
      },
    }
  }
  const { requests } = engine
  const { reads } = requests
  const run = engine.run.bind(engine)
  const counting = counted({ run })
  engine.run = (statement, values, returns) => counting.run(statement, values, returns)
  // Reads of new requests use a separate runner.
  engine.requests = { ...requests, reads: reads && ((reading) => counted(reads(reading))) }
  try {
    const result = await work()
    return { result, count: statements.length, statements }
  } finally {
    engine.run = run
    engine.requests = requests
  }
}
