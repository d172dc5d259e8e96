import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { build } from 'esbuild'
import {
  type Application,
  bootstrap,
  connect,
  Controller,
  type Database,
  type ExactNumber,
  Field,
  type Generated,
  Module,
  NoAuth,
  Record,
} from '../../src/index.js'
import { openSqlite } from '../../src/engines/sqlite/sqlite.js'
import { decimals, sqlFunctions } from '../../src/engines/sqlite/functions.js'
import { startBothEngines } from './both-engines.js'
import { findDrivers } from './sqlite-drivers.js'
import { frameworkQuery, frameworkScript } from '../../src/engines/contract/statement.js'

const largest = Number.MAX_SAFE_INTEGER

@Record
@NoAuth
class Count {
  @Field('id') id!: number
  @Field('string') shop!: string
  @Field('integer') pieces!: number
  @Field('integer', { list: true, default: [] }) sizes!: Generated<number[]>
  @Field('decimal', { precision: 18, scale: 2 }) price!: ExactNumber
  @Field('decimal', { precision: 38, scale: 8 }) worth!: ExactNumber
}

@Controller('/counts', { crud: Count })
@NoAuth
class Counts {}

@Module({ controllers: [Counts], records: [Count] })
class Shop {}

describe.each(await startBothEngines())('exact sums: %s', (_name, open) => {
  let database: Database
  let app: Application
  beforeAll(async () => {
    database = await connect(await open(), { records: [Count] })
    await database.sync()
    app = await bootstrap(Shop, { database, listen: false })
    const row = (shop: string, pieces: number) => ({
      shop,
      pieces,
      price: '9999999999999999.99',
      worth: '999999999999999999999999999999.99999999',
    })
    await database
      .records(Count)
      .insertMany([
        ...Array.from({ length: 2000 }, () => row('large', largest)),
        ...Array.from({ length: 2000 }, () => row('negative', -largest)),
        ...Array.from({ length: 3 }, () => row('beyond', largest)),
        row('small', 7),
      ])
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  const get = async (path: string) => {
    const response = await app.handle(new Request(`http://app.test${path}`))
    return { status: response.status, body: (await response.json()) as unknown }
  }
  const graphql = async (query: string, variables = {}) => {
    const response = await app.handle(
      new Request('http://app.test/graphql', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      }),
    )
    return (await response.json()) as {
      data: { counts: unknown[]; countsAggregate: unknown[] }
      errors?: { message: string; extensions: { code: string } }[]
    }
  }
  const sums = [
    { shop: 'beyond', sumPieces: '27021597764222973' },
    { shop: 'large', sumPieces: '18014398509481982000' },
    { shop: 'negative', sumPieces: '-18014398509481982000' },
    { shop: 'small', sumPieces: 7 },
  ]

  it('of integers are numbers, and text beyond 2^53', async () => {
    const counts = database.records(Count)
    expect(await counts.aggregate({ groupBy: ['shop'], sum: ['pieces'] })).toEqual(sums)
    expect((await get('/counts/aggregate?groupBy=shop&sum=pieces')).body).toEqual(sums)
    const { data, errors } = await graphql(
      '{ countsAggregate(groupBy: [shop]) { shop sum { pieces } } }',
    )
    expect(errors).toBeUndefined()
    expect(data.countsAggregate).toEqual(
      sums.map(({ shop, sumPieces }) => ({ shop, sum: { pieces: sumPieces } })),
    )
  })

  it('are sorted and compared exactly at any size', async () => {
    const counts = database.records(Count)
    const shops = async (options: object) =>
      (await counts.aggregate({ groupBy: ['shop'], sum: ['pieces'], ...options })).map(
        ({ shop }) => shop,
      )
    expect(await shops({ orderBy: { sumPieces: 'desc' } })).toEqual([
      'large',
      'beyond',
      'small',
      'negative',
    ])
    expect(await shops({ having: { sumPieces: { gt: 6.5 } } })).toEqual([
      'beyond',
      'large',
      'small',
    ])
    expect(await shops({ having: { sumPieces: { gt: 7 } } })).toEqual(['beyond', 'large'])
    expect(await shops({ having: { sumPieces: { lte: 7.5, gte: -1e18 } } })).toEqual(['small'])
    expect(await shops({ having: { sumPieces: { lt: -7.5 } } })).toEqual(['negative'])
    expect(await shops({ having: { sumPieces: { lt: 1e300, gt: -1e300 } } })).toHaveLength(4)
    expect(await shops({ having: { sumPieces: 7 } })).toEqual(['small'])
    expect(await shops({ having: { sumPieces: 7.5 } })).toEqual([])
  })

  it('of decimals keep every digit', async () => {
    const [row] = await database.records(Count).aggregate({ sum: ['price', 'worth'] })
    expect(row).toEqual({
      sumPrice: '40039999999999999959.96',
      sumWorth: '4003999999999999999999999999999999.99995996',
    })
  })

  it('accept operands beyond 32 bits', async () => {
    const count = async (where: string, variables = {}, declared = '') => {
      const { data, errors } = await graphql(
        `query ${declared} { counts(limit: 5, where: ${where}) { shop } }`,
        variables,
      )
      expect(errors).toBeUndefined()
      return data.counts.length
    }
    expect(await count('{ pieces: { gt: 3000000000 } }')).toBe(5)
    expect(await count('{ pieces: { eq: 7 } }')).toBe(1)
    expect(await count('{ pieces: { in: [7, 3000000000, -9007199254740991] } }')).toBe(5)
    expect(await count('{ sizes: { has: 3000000000 } }')).toBe(0)
    expect(await count('$w', { w: { pieces: { gt: 3000000000 } } }, '($w: CountWhere)')).toBe(5)
    expect(await count('{ pieces: { gt: $n } }', { n: 3000000000 }, '($n: Integer)')).toBe(5)
    // Clients that declare variables as Int keep working.
    expect(await count('{ pieces: { eq: $n } }', { n: 7 }, '($n: Int)')).toBe(1)
    expect(await count('{ pieces: { eq: $n } }', { n: 7 }, '($n: Int!)')).toBe(1)
    expect(await count('{ pieces: { in: $n } }', { n: [7] }, '($n: [Int!])')).toBe(1)
  })

  it('reject operands that are not integers', async () => {
    for (const operand of ['9007199254740993', '1.5', '"7"', 'true', '[7]']) {
      const { errors } = await graphql(`{ counts(where: { pieces: { eq: ${operand} } }) { id } }`)
      const codes = errors?.map(({ extensions }) => extensions.code)
      expect([operand, codes]).toEqual([operand, ['GRAPHQL_VALIDATION_FAILED']])
    }
    const { errors } = await graphql(
      'query ($n: Int) { counts(where: { pieces: { eq: $n } }) { id } }',
      {
        n: 3000000000,
      },
    )
    expect(errors?.[0]?.message).toMatch(/32-bit/)
    for (const type of ['Float', 'String', '[Int]', '[Integer]', 'Boolean']) {
      const query = `query ($n: ${type}) { counts(where: { pieces: { eq: $n } }) { id } }`
      expect((await graphql(query)).errors?.[0]?.message).toMatch(/used in position expecting/)
    }
  })
})

describe.each(await findDrivers())('slow reads in threads with %s', (driver) => {
  it('have the same SQL functions as quick reads', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'filigree-sums-'))
    const engine = await openSqlite({ file: join(folder, 'a.db'), driver })
    try {
      await engine.run(
        frameworkScript(`create table item (id integer primary key, a text, b text, c text);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
        insert into item select i, '2 ' || (i * 7919 - 60000000), i || ' -5 ' || i, '3 ' || i || ' 7' from n;
        insert into item values (20001, '0 -7', '-1 999999999', '7 -1 999999999')`),
        [],
        'nothing',
      )
      const storedSum = `4 ${decimals.toSortable('-12345678901234567890123', 30)}`
      await engine.run(
        frameworkScript(`insert into item values (20002, '${storedSum}', null, null)`),
        [],
        'nothing',
      )
      const reads = engine.requests.reads?.({ onFinished: () => undefined })
      const long = frameworkQuery(
        `select filigree_decimal(a), filigree_sum(b), filigree_mean(c), filigree_fold(a || 'Ä'), filigree_base64(c),
          filigree_double(id / 3e0), filigree_convert('text_decimal_30_4 item.id ' || id || '.25') from item order by b`,
      )
      const reading = reads?.run(long, [], 'rows')
      expect(reading).toBeInstanceOf(Promise)
      const rows = (await reading) ?? []
      expect(rows).toHaveLength(20002)
      expect(rows).toStrictEqual(await engine.run(long, [], 'rows'))
    } finally {
      await engine.close()
      await rm(folder, { recursive: true })
    }
  })
})

it.each([
  { minify: true, keepNames: true },
  { minify: true, keepNames: false },
  { minify: false, keepNames: true },
])('threads get working functions from a program bundled with %j', async (options) => {
  const entry = fileURLToPath(new URL('../../src/engines/sqlite/functions.ts', import.meta.url))
  const output = await build({
    ...{ entryPoints: [entry], bundle: true, write: false, format: 'cjs', target: 'node20' },
    ...options,
  })
  const bundle = { exports: {} as { functionsProgram: string } }
  runInNewContext(output.outputFiles[0]?.text ?? '', { module: bundle, Buffer })
  const functions = runInNewContext(bundle.exports.functionsProgram, { Buffer }) as {
    [name: string]: (value: unknown) => unknown
  }
  expect(Object.keys(functions)).toStrictEqual(Object.keys(sqlFunctions))
  for (const value of ['2 1250 -7', '1 -5 999999999', 'Ä 1', 1.5, -Infinity, null]) {
    const results = [functions, sqlFunctions as typeof functions].map((functionSet) =>
      Object.values(functionSet).map((run) => attempt(() => run(value))),
    )
    expect(results[0]).toStrictEqual(results[1])
  }
})

/** @returns the result, or the message of the thrown error */
function attempt(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return (error as Error).message
  }
}
