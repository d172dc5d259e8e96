/** Applies the fix of each problem of the start report, after which the application starts. */
import { readFile } from 'node:fs/promises'
import { expect, it } from '@jest/globals'
import { bootstrap, DeclarationError, Post } from '../../src/index.js'
import {
  faultyDeclarations,
  graphql,
  moduleOf,
  resolve,
  routed,
  type Attempt,
} from './faulty-declarations.js'

async function fixesOf({ module, options }: Attempt): Promise<string[]> {
  const env = {}
  const starting = bootstrap(module, { listen: false, logger: false, env, ...options })
  try {
    await (await starting).close()
    return []
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    return error.problems.map(({ remedy }) => remedy)
  }
}

it.each<[string, string | RegExp, () => Attempt, () => Attempt]>([
  [
    'a path without its slash',
    /\//,
    () => ({ module: moduleOf(routed('items/<id:int')) }),
    () => ({ module: moduleOf(routed('/items/<id:int>')) }),
  ],
  [
    'a type of a path that is spelt otherwise',
    'Did you mean "int"?',
    () => ({ module: moduleOf(routed('/items/<id:integer>')) }),
    () => ({ module: moduleOf(routed('/items/<id:int>')) }),
  ],
  [
    'two equal routes',
    /./,
    () => ({ module: moduleOf(routed('/items', Post), routed('/items', Post)) }),
    () => ({ module: moduleOf(routed('/items', Post), routed('/items')) }),
  ],
  [
    'an unknown type of GraphQL that is an enum',
    /schema\.addType, or with schema\.addEnum/,
    () => graphql((schema) => schema.addQuery('color', { type: 'Color', resolve })),
    () =>
      graphql((schema) =>
        schema.addEnum('Color', ['RED']).addQuery('color', { type: 'Color', resolve }),
      ),
  ],
  [
    'an unknown type of an argument',
    /schema\.addInput, or with schema\.addEnum/,
    () => graphql((schema) => schema.addQuery('a', { type: 'Int', args: { by: 'By' }, resolve })),
    () =>
      graphql((schema) =>
        schema
          .addInput('By', { name: 'String' })
          .addQuery('a', { type: 'Int', args: { by: 'By' }, resolve }),
      ),
  ],
])('the fix of %s', async (_what, remedy, faulty, fixed) => {
  expect(await fixesOf(faulty())).toEqual([
    typeof remedy === 'string' ? expect.stringContaining(remedy) : expect.stringMatching(remedy),
  ])
  expect(await fixesOf(fixed())).toEqual([])
})

it.each(faultyDeclarations)('the fix of %s', async (code, remedy, faulty, fixed) => {
  const { module, options } = faulty()
  const starting = bootstrap(module, { listen: false, logger: false, env: {}, ...options })
  const failure: unknown = await starting.then(
    async (application) => application.close(),
    (error: unknown) => error,
  )
  const found = (failure as DeclarationError | undefined)?.problems.filter(
    (one) => one.code === code,
  )
  expect(found).toEqual([expect.objectContaining({ code, remedy: expect.stringMatching(remedy) })])
  expect(await fixesOf(fixed())).toEqual([])
})

/** Codes that no declaration can fix, or that other tests cover, with the reason. */
const untestedCodes: Readonly<globalThis.Record<string, string>> = {
  UNKNOWN_OVERRIDE: 'an option of tests',
  UNDEFINED_IN_FILTER: 'thrown by a call',
  SKIP_IN_FILTER: 'thrown by a call',
  PORT_TAKEN: 'depends on the machine',
  PORT_REFUSED: 'depends on the machine',
  HOST_UNKNOWN: 'depends on the machine',
  CLIENT_MISSING: 'depends on the build',
  AUTH_KEYS: 'depends on the environment',
  DATABASE_DRIVER_MISSING: 'depends on the machine',
  SECOND_COPY: 'depends on files: second-copy.long.ts',
  IMPORT_CYCLE: 'depends on files: failed-start.long.ts',
  NOT_DEFINED_YET: 'depends on files: failed-start.long.ts',
  DATABASE_POOLED: 'depends on the machine: pooler.slow.ts',
  MAIL_DRIVER_MISSING: 'depends on the machine',
  OIDC_CLIENT_MISSING: 'depends on the machine',
  PASSKEYS_PACKAGE_MISSING: 'depends on the machine',
  SOCKETS_DRIVER_MISSING: 'depends on the machine',
  PUBLIC_URL_MISSING: 'depends on the environment: public-url.test.ts',
  DATABASE_UNREACHABLE: 'depends on the machine',
  DATABASE_UNREADABLE: 'depends on the machine',
  STORED_VALUE: 'depends on the stored rows: stored-decimals.test.ts',
  SCHEMA_DIFFERS: 'depends on the database: schema.long.ts',
  TABLE_MISPLACED: 'depends on the database: misplaced.citus.ts',
  SCHEMA_LOCKED: 'depends on the database',
  MIGRATION_FAILED: 'depends on the database',
  MIGRATION_CHANGED: 'depends on the database',
  MIGRATION_MISSING: 'depends on the database',
  COPY_FAILED: 'of filigree copy',
  INVALID_DOCUMENTS: 'depends on a file',
  DECORATOR_CHECK: 'a text of a custom decorator',
  UNKNOWN_TYPE: 'above',
  INVALID_SCHEMA: "the text of GraphQL's own check",
}

it('every code of a start has its fix tested here, or a reason', async () => {
  const page = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  const start = page.slice(0, page.indexOf('Warnings in the log'))
  const codes = [...start.matchAll(/^\| (`[A-Z_`, ]+`) /gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/[A-Z_]+/g)].map(([code]) => code),
  )
  const knownCodes = new Set([
    ...faultyDeclarations.map(([code]) => code),
    ...Object.keys(untestedCodes),
  ])
  expect(codes.filter((code) => !knownCodes.has(code))).toEqual([])
})
