/**
 * Runs the suites `*.citus.ts` against the Citus coordinator in `TEST_CITUS_URL`: `npm run citus [path words]`. The
 * extension is in no package registry, so without the address nothing is tested, and the output says so.
 */
import { spawnSync } from 'node:child_process'

const { TEST_CITUS_URL: address = '' } = process.env

if (address === '') {
  console.log(
    'Citus was not tested: TEST_CITUS_URL is not set. Let it name a database on a coordinator, whose tables the suites drop.',
  )
} else {
  const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js']
  // Suites of all engines, which run on Citus here.
  const shared = [
    'shards',
    'shard-clients',
    'shard-relations',
    'shard-accounts',
    'shard-announcements',
    'shard-sign-ins',
  ].map((name) => `--testMatch=**/records/${name}.test.ts`)
  // All suites use the same database.
  const options = ['--testMatch=**/*.citus.ts', ...shared, '--maxWorkers=1']
  const { status } = spawnSync(process.execPath, [...jest, ...options, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, TEST_ENGINE: 'citus' },
  })
  process.exitCode = status ?? 1
}
