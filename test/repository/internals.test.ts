/**
 * Tests use the public API and the command. A suite that imports internals of the source is listed here
 * with its reason. Types can be imported from anywhere.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readSources, resolveImport, root } from './source-files.js'

/** By reason. */
const suites: Readonly<Record<string, readonly string[]>> = {
  'fixtures for other suites, which set up one part alone or read its database': [
    'test/auth/fixtures.ts',
    'test/auth/open-pair.ts',
    'test/bootstrap/fixtures/workers.ts',
    'test/cli/copying-process.ts',
    'test/cli/development-monitor.ts',
    'test/cli/pull/check-pulled.ts',
    'test/cli/pull/dump-database.ts',
    'test/cli/pull/nested-query.ts',
    'test/cli/pull/pull-real.ts',
    'test/contracts/login-stores.ts',
    'test/contracts/statement-recorder.ts',
    'test/fields/compiled.ts',
    'test/http/bodies/body-server.ts',
    'test/http/fake-request.ts',
    'test/http/responder-server.ts',
    'test/records/migration-helpers.ts',
    'test/records/open-database.ts',
    'test/sessions/visits.ts',
  ],
  'a table of many values, each of which would cost a request': [
    'test/admin/start.test.ts',
    'test/contracts/kinds.long.ts',
    'test/contracts/response-targets.test.ts',
    'test/core/log-text.test.ts',
    'test/core/missing-package.test.ts',
    'test/cli/redactor.test.ts',
    'test/cli/pull/check-rules.test.ts',
    'test/cli/pull/default-values.test.ts',
    'test/cli/pull/names.test.ts',
    'test/sql/sql-text.test.ts',
    'test/fields/slow-patterns.test.ts',
    'test/graphql/mergeable-fields.test.ts',
    'test/graphql/variables.test.ts',
    'test/http/bodies/body-texts.test.ts',
    'test/http/bodies/multipart-parser.test.ts',
    'test/http/cors.test.ts',
    'test/http/error-response.test.ts',
    'test/http/fake-response.test.ts',
    'test/http/header-list.test.ts',
    'test/http/upload.test.ts',
    'test/modules/compress.test.ts',
    'test/modules/mcp/protocol.test.ts',
    'test/modules/throttle.test.ts',
    'test/openapi/schemas.test.ts',
    'test/records/record-key.test.ts',
    'test/records/undefined-filters.test.ts',
    'test/routing/argument-names.test.ts',
    'test/routing/route-table.test.ts',
    'test/sql/operators.test.ts',
    'test/sql/write-statement.test.ts',
  ],
  'a structure whose order, size or eviction no response shows': [
    'test/bootstrap/container.test.ts',
    'test/cli/backup-command.test.ts',
    'test/records/zone-offsets.test.ts',
    'test/serving/deadlines.test.ts',
    'test/core/data-structures.test.ts',
    'test/engines/slow-read-detector.test.ts',
    'test/engines/fair-queue.test.ts',
    'test/http/upload-across-devices.test.ts',
    'test/engines/replica-positions.test.ts',
  ],
  'keys, tokens and sessions with the clock and store of the test, without an application': [
    'test/records/expiring-store.test.ts',
  ],
  'the contract of an engine: its statements, connections, errors and scheduling': [
    'test/engines/read-cost-estimates.test.ts',
    'test/engines/sqlite-drivers.test.ts',
    'test/records/exact-sums.test.ts',
    'test/engines/reader-threads.test.ts',
    'test/records/partition-plans.test.ts',
  ],
  'the table of error codes, which is no part of the public API': [
    'test/repository/error-codes.test.ts',
  ],
  'internal state of a database: its tables and subscribers': [
    'test/records/changes.long.ts',
    'test/records/composite-key-schema.test.ts',
    'test/records/keyless-records.test.ts',
    'test/records/foreign-writes.long.ts',
    'test/records/copied-differences.long.ts',
    'test/records/copied-tables.test.ts',
    'test/records/large-lists.long.ts',
    'test/records/large-rows.long.ts',
    'test/records/query-cost.long.ts',
    'test/records/partition-interfaces.long.ts',
    'test/records/shard-announcements.test.ts',
    'test/records/table.test.ts',
  ],
  'results of the command and the development page, without a process': [
    'test/cli/development-secrets.test.ts',
    'test/cli/mcp-command.test.ts',
    'test/cli/new-command.test.ts',
    'test/cli/development-views.test.ts',
    'test/cli/run-and-console.test.ts',
    'test/cli/failure-page.test.ts',
    'test/cli/handler-sources.test.ts',
    'test/cli/start-errors.long.ts',
    'test/modules/config.test.ts',
    'test/openapi/breaking-changes.test.ts',
  ],
  'it writes to standard output, which all suites of a process share': [
    'test/modules/log-lines.test.ts',
  ],
  'the tables of the admin page’s texts, for comparisons': [
    'test/admin/languages.long.ts',
    'test/browser/admin-csv-errors.test.ts',
    'test/browser/admin-german.slow.ts',
    'test/browser/admin-page.test.ts',
  ],
  'a mistake of the planner, which no schema causes': [
    'test/graphql/planner/planning-failures.test.ts',
  ],
  'a comparison of the executor and the planner with the same schema': [
    'test/graphql/root-plans.test.ts',
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

describe('tests that import internals', () => {
  it('are listed with their reason', () => {
    const unlisted = importing.filter(({ path }) => !named.includes(path))
    expect(unlisted.map(({ path }) => path)).toEqual([])
  })

  it('import internals if they are listed', () => {
    const unneeded = named.filter((name) => !importing.some(({ path }) => path === name))
    expect(unneeded).toEqual([])
  })

  it('are listed once', () => {
    expect(named.filter((name, at) => named.indexOf(name) !== at)).toEqual([])
  })
})
