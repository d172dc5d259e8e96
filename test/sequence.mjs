/**
 * The order of the suites. A fresh clone has no durations of an earlier run, so the slowest suites are named here. If one
 * of them started last, it would occupy one core while the other is idle.
 */
import BySize from '@jest/test-sequencer'

const longest = [
  'records/rights.test.ts',
  'records/migrations-both-ways.test.ts',
  'openapi/agreement.test.ts',
  'records/pglite.test.ts',
  'graphql/records/subscriptions.test.ts',
  'graphql/planner/differential.test.ts',
  'records/changes.test.ts',
  'records/writes-after-timeout.test.ts',
  'bootstrap/limits.test.ts',
  'behaviour/misspelt-options.test.ts',
  'records/concurrent-rules.test.ts',
  'records/read-your-writes.test.ts',
  'tutorial/on-sqlite.slow.ts',
  'toolchains/published.slow.ts',
  'samples/atlas-page-users.slow.ts',
  'graphql/ide.slow.ts',
  'browser/admin-frame.slow.ts',
  'browser/admin-clicks.slow.ts',
]

export default class Sequence extends BySize {
  sort(tests) {
    const rank = ({ path }) => {
      const found = longest.findIndex((name) => path.endsWith(`/test/${name}`))
      return found < 0 ? longest.length : found
    }
    return [...super.sort(tests)].sort((one, other) => rank(one) - rank(other))
  }
}
