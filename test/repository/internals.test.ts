/**
 * Tests use the public API and the command. A suite that imports internals of the source is listed here
 * with its reason. Types can be imported from anywhere.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readSources, resolveImport, root } from './source-files.js'

/** By reason: a file, or all files of a folder (`test/fields/`). */
const suites: Readonly<Record<string, readonly string[]>> = {
  'fixtures for other suites, which set up one part alone or read its database': [
    'test/auth/fixtures.ts',
    'test/auth/open-pair.ts',
    'test/bootstrap/fixtures/workers.ts',
    'test/contracts/database-fixture.ts',
    'test/contracts/kind-samples.ts',
    'test/contracts/rights/rights.contract.ts',
    'test/contracts/rights/fixture.ts',
    'test/contracts/statement-recorder.ts',
    'test/graphql/planner/driver-log.ts',
    'test/http/responder-server.ts',
    'test/http/bodies/body-server.ts',
    'test/records/listening-process.ts',
    'test/records/replica-setup.ts',
    'test/records/sqlite-drivers.ts',
    'test/sessions/visits.ts',
  ],
  'a table of many values, each of which would cost a request': [
    'test/admin/start.test.ts',
    'test/auth/access.test.ts',
    'test/contracts/kinds.test.ts',
    'test/contracts/outgoing.test.ts',
    'test/core/install-command.test.ts',
    'test/fields/',
    'test/graphql/type-notation.test.ts',
    'test/graphql/variables.test.ts',
    'test/http/bodies/json.test.ts',
    'test/http/bodies/media-type.test.ts',
    'test/http/bodies/multipart-parser.test.ts',
    'test/http/bodies/part-header.test.ts',
    'test/http/bodies/read-body.test.ts',
    'test/http/cors.test.ts',
    'test/http/error-response.test.ts',
    'test/http/proxies.test.ts',
    'test/http/upload.test.ts',
    'test/modules/compress.test.ts',
    'test/modules/mcp/protocol.test.ts',
    'test/modules/throttle.test.ts',
    'test/openapi/schemas.test.ts',
    'test/records/operators.test.ts',
    'test/records/sqlite-plans.test.ts',
    'test/records/undefined-filters.test.ts',
    'test/routing/argument-names.test.ts',
    'test/routing/pattern.test.ts',
    'test/routing/route-table.test.ts',
    'test/sql/write.test.ts',
  ],
  'a structure whose order, size or eviction no response shows': [
    'test/auth/verified-tokens.test.ts',
    'test/bootstrap/container.test.ts',
    'test/cli/backup-command.test.ts',
    'test/bootstrap/deadlines.test.ts',
    'test/core/address-counts.test.ts',
    'test/core/event-loop-slots.test.ts',
    'test/core/linked-list.test.ts',
    'test/engines/slow-read-detector.test.ts',
    'test/engines/fair-queue.test.ts',
    'test/http/bodies/upload-folder.test.ts',
    'test/http/early-response.test.ts',
    'test/http/upload-across-devices.test.ts',
    'test/http/events.test.ts',
    'test/records/follow-all.test.ts',
    'test/records/replica-positions.test.ts',
  ],
  'keys, tokens and sessions with the clock and store of the test, without an application': [
    'test/auth/auth.test.ts',
    'test/auth/decorators.test.ts',
    'test/auth/interop.test.ts',
    'test/auth/keys.test.ts',
    'test/auth/options.test.ts',
    'test/auth/rotation.test.ts',
    'test/records/expiring-store.test.ts',
    'test/records/session-store.test.ts',
    'test/sessions/keeper.test.ts',
    'test/sessions/memory-store.test.ts',
    'test/sessions/session-mapping.test.ts',
  ],
  'the contract of an engine: its statements, connections, errors and scheduling': [
    'test/contracts/changes.contract.ts',
    'test/contracts/database-lists.contract.ts',
    'test/contracts/shared-reads.contract.ts',
    'test/graphql/planner/mutation.test.ts',
    'test/graphql/planner/failed-statements.test.ts',
    'test/records/read-cost-estimates.test.ts',
    'test/records/client-read-timeouts.test.ts',
    'test/records/copy-inserts.test.ts',
    'test/records/drivers.test.ts',
    'test/records/exact-sums.test.ts',
    'test/records/postgres-fallbacks.test.ts',
    'test/records/locked-tables.test.ts',
    'test/records/writes-after-timeout.test.ts',
    'test/records/pipelined-statements.test.ts',
    'test/records/reader-threads.test.ts',
  ],
  'internal state of a database: its tables and subscribers': [
    'test/cli/doctor-command.test.ts',
    'test/graphql/records/subscriptions.test.ts',
    'test/modules/cache.test.ts',
    'test/records/changes.test.ts',
    'test/records/constraints.test.ts',
    'test/records/crud.test.ts',
    'test/records/query-cost.test.ts',
    'test/records/search-limit.test.ts',
    'test/records/table.test.ts',
  ],
  'migrations, which applications run only by the command, with the folder and time of the test': [
    'test/records/decimal-migrations.test.ts',
    'test/records/migrations-both-ways.test.ts',
    'test/records/migrations.test.ts',
    'test/records/pooler.slow.ts',
    'test/records/safe-migrations.test.ts',
    'test/records/schema-changes.test.ts',
    'test/records/search-schema.test.ts',
    'test/records/uuid-columns.test.ts',
  ],
  'results of the command and the development page, without a process': [
    'test/cli/development-browser.slow.ts',
    'test/cli/development-page.slow.ts',
    'test/cli/development-secrets.test.ts',
    'test/cli/mcp-command.test.ts',
    'test/cli/new-command.test.ts',
    'test/modules/config.test.ts',
    'test/openapi/breaking-changes.test.ts',
    'test/openapi/doc.test.ts',
    'test/openapi/document.test.ts',
    'test/openapi/interop.test.ts',
  ],
  'it writes to standard output, which all suites of a process share': [
    'test/modules/log-lines.test.ts',
  ],
  'a comparison of the executor and the planner with the same schema': [
    'test/graphql/planned.test.ts',
    'test/graphql/records/generate.test.ts',
  ],
}

/** The entry files of the package, and the command. */
const entries = new Set(['src/cli/run-command.ts'])
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { types?: string }>
}
for (const { types } of Object.values(exports))
  entries.add((types ?? '').replace('./dist/', '').replace('.d.ts', '.ts'))

const named = Object.values(suites).flat()
const importing = readSources('test').filter((file) =>
  file.imports.some(({ from, typeOnly }) => {
    if (typeOnly || !from.startsWith('.')) return false
    const to = resolveImport(file, from)
    return to.startsWith('src/') && !entries.has(to)
  }),
)
const isOf = (path: string, name: string): boolean =>
  name.endsWith('/') ? path.startsWith(name) : path === name

describe('tests that import internals', () => {
  it('are listed with their reason', () => {
    const unlisted = importing.filter(({ path }) => !named.some((name) => isOf(path, name)))
    expect(unlisted.map(({ path }) => path)).toEqual([])
  })

  it('import internals if they are listed', () => {
    const unneeded = named.filter((name) => !importing.some(({ path }) => isOf(path, name)))
    expect(unneeded).toEqual([])
  })

  it('are listed once', () => {
    expect(named.filter((name, at) => named.indexOf(name) !== at)).toEqual([])
  })
})
