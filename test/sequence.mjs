/**
 * The order of the suites. A fresh clone has no durations of an earlier run, so the slowest suites are named here. If one
 * of them started last, it would occupy one core while the other is idle.
 */
import BySize from '@jest/test-sequencer'

const longest = [
  'records/rights.test.ts',
  'records/rights.long.ts',
  'records/migrations-both-ways.long.ts',
  'records/kind-changes.long.ts',
  'openapi/agreement.long.ts',
  'records/pglite.long.ts',
  'graphql/records/subscriptions.long.ts',
  'graphql/planner/differential.long.ts',
  'records/changes.long.ts',
  'records/writes-after-timeout.long.ts',
  'bootstrap/limits.long.ts',
  'behaviour/misspelt-options.long.ts',
  'records/concurrent-rules.long.ts',
  'records/read-your-writes.long.ts',
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
