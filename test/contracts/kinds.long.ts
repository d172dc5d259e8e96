/** Every kind of field by REST, GraphQL (planned and resolved), filters and orders, on both engines. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Application,
  bootstrap,
  connect,
  Controller,
  type Database,
  Field,
  GraphQL,
  Module,
  NoAuth,
  Record as RecordOf,
} from '../../src/index.js'
import { isOfKind, kindOf, kinds, toFunction } from '../../src/fields/kinds/table.js'
import type { Kind } from '../../src/fields/kinds/kind.js'
import { logStatements } from '../graphql/planner/driver-log.js'
import { startBothEngines } from '../records/both-engines.js'
import { addMoney, keyKinds, samples, type KindSample } from './kind-samples.js'
import { toTimestamp } from '../../src/fields/kinds/dates.js'

addMoney()

@RecordOf
class Sample {
  @Field('id') id!: number
}
for (const [name, { kind, rules }] of Object.entries(samples))
  Field(kind, { optional: true, nullable: true, ...rules })(Sample.prototype, name)
for (const [name, { kind, rules }] of Object.entries(samples))
  if (kind !== 'json')
    Field(kind, { ...rules, optional: true, list: true })(Sample.prototype, `${name}s`)

@Controller('/samples', { crud: Sample })
@NoAuth
class Samples {}

@Module({ controllers: [Samples] })
class App {}

const each = Object.entries(samples)
const comparable = each.filter(([, { kind }]) => entryOf(kind).compares !== 'nothing')
const ordered = each.filter(([, { kind }]) => ['order', 'text'].includes(entryOf(kind).compares))

function entryOf(name: KindSample['kind']): Kind {
  return kinds[name]
}

/** Removes what may differ: the field with a resolver, and cursors, whose number format depends on the database. */
function plain(result: unknown): unknown {
  return JSON.parse(
    JSON.stringify(result, (key, value: unknown) =>
      key === 'slow' || key === 'cursor' ? undefined : value,
    ),
  )
}

/** A value as a URL query writes it. */
function toText(value: unknown): string {
  return encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))
}

/** A value as GraphQL returns it, where JSON is a string. */
function graphqlValue(name: string, value: unknown): unknown {
  return samples[name]?.kind === 'json' ? JSON.stringify(value) : value
}

describe('the table of kinds', () => {
  it('has samples of every kind', () => {
    const sampled = new Set<string>(each.map(([, { kind }]) => kind))
    expect([...sampled, ...keyKinds].sort()).toEqual(Object.keys(kinds).sort())
  })

  it.each(each)('%s reads back what it writes', (_name, sample) => {
    const kind = kindOf(sample.kind, sample.rules ?? {})
    for (const value of sample.values) {
      expect(isOfKind(value, kind)).toBe(true)
      const property = kind.read === undefined ? value : toFunction(kind.read)(value)
      expect(kind.write === undefined ? property : kind.write(property)).toEqual(value)
    }
    // Statements write the values of a page's cursor by `sqlText`.
    expect(kind.decode === undefined || kind.sqlText !== undefined).toBe(true)
  })

  it('kinds with the same filter name have the same filter', () => {
    const filters = new Map<string, string>()
    for (const { graphql, compares } of Object.values<Kind>(kinds)) {
      const filter = `${graphql.type} ${compares}`
      expect(filters.get(graphql.filter) ?? filter).toBe(filter)
      filters.set(graphql.filter, filter)
    }
  })
})

const engines = await startBothEngines()

describe.each(engines)('%s: every kind', (_name, open) => {
  let app: Application
  let database: Database
  const resolved = new GraphQL()

  beforeAll(async () => {
    database = await connect(await open(), { records: [Sample] })
    await database.sync()
    resolved.schema.fromOrm(Sample)
    resolved.schema.addField('Sample', 'slow', { type: 'String', resolve: () => 'slow' })
    resolved.bind({ database } as never)
    @Module({ imports: [App], records: [Sample] })
    class TestModule {}
    const env = { APP_API_KEY: 'key' }
    app = await bootstrap(TestModule, { database, listen: false, logger: false, env })
  })
  afterAll(async () => {
    await app.close()
    await database.close()
  })

  /** Replaces all rows by one for each value of the sample and one without a value. @returns their ids */
  async function fill(name: string, { values }: KindSample): Promise<number[]> {
    await database.kysely.deleteFrom('sample').execute()
    const ids: number[] = []
    for (const value of [...values, null]) {
      const json = { [name]: value }
      const response = await app.inject({ method: 'POST', url: '/samples', json })
      expect({ status: response.status, body: response.json() }).toMatchObject({ status: 201 })
      const body = response.json() as Record<string, unknown>
      expect(body[name]).toEqual(value)
      ids.push(body.id as number)
    }
    return ids
  }

  async function ids(query: string): Promise<unknown[]> {
    const response = await app.inject({ url: `/samples?${query}` })
    const list = response.json() as { id: number }[]
    expect({ status: response.status, list }).toMatchObject({ status: 200 })
    return list.map(({ id }) => id)
  }

  /** Runs the document by the planner and by resolvers, and expects equal results. */
  async function execute(query: string, variables = {}): Promise<unknown> {
    const planned = await logStatements(() => app.graphql.execute(query, variables))
    expect(planned.sent.length).toBe(1)
    const slow = query.replace('{ id ', '{ slow id ')
    const other = await resolved.execute(slow, variables, {})
    expect(plain(other)).toEqual(plain(planned.result))
    return planned.result
  }

  it.each(each)('%s is written and read by REST', async (name, sample) => {
    const [first] = await fill(name, sample)
    const url = `/samples/${first}`
    expect((await app.inject({ url })).json()).toMatchObject({ [name]: sample.values[0] })
    const json = { [name]: sample.values[1] }
    const patched = await app.inject({ method: 'PATCH', url, json })
    expect(patched.json()).toMatchObject(json)
    for (const value of sample.invalid) {
      const response = await app.inject({
        method: 'POST',
        url: '/samples',
        json: { [name]: value },
      })
      expect({ value, ...(response.json() as object) }).toMatchObject({ errors: [{ path: name }] })
    }
  })

  it.each(each)('%s is written and read by repositories', async (name, sample) => {
    const [first] = await fill(name, sample)
    const records = database.records<Record<string, unknown>>(Sample as never)
    const record = await records.find(first as number)
    const property = sample.property ?? sample.values[0]
    expect(record?.[name]).toEqual(property)
    const created = await records.create({ [name]: property })
    expect((await records.find(created.id as number))?.[name]).toEqual(property)
    if (entryOf(sample.kind).compares === 'nothing') return
    expect(await records.count({ [name]: property } as never)).toBe(2)
  })

  it.each(each.filter(([, { kind }]) => kind !== 'json'))(
    '%s can be a list',
    async (name, sample) => {
      const json = { [`${name}s`]: sample.values }
      const created = await app.inject({ method: 'POST', url: '/samples', json })
      const { id } = created.json() as { id: number }
      expect((await app.inject({ url: `/samples/${id}` })).json()).toMatchObject(json)
      const document = `{ samples(where: { id: { eq: "${id}" } }) { id ${name}s } }`
      expect(await execute(document)).toMatchObject({ data: { samples: [json] } })
      const record = await database.records<Record<string, unknown>>(Sample as never).find(id)
      const property = sample.property ?? sample.values[0]
      expect((record?.[`${name}s`] as unknown[])[0]).toEqual(property)
    },
  )

  it.each(comparable)('%s is filtered by REST', async (name, sample) => {
    const [first] = await fill(name, sample)
    expect(await ids(`${name}=${toText(sample.values[0])}`)).toEqual([first])
    expect(await ids(`${name}.in=${toText(sample.values[0])}`)).toEqual([first])
    expect(await ids(`${name}.ne=${toText(sample.values[0])}`)).not.toContain(first)
    for (const value of sample.invalid.filter((one) => typeof one === 'string' && one !== 'a\0')) {
      if (entryOf(sample.kind).fromText(value as string) !== undefined) continue
      const { status } = await app.inject({ url: `/samples?${name}=${toText(value)}` })
      expect({ value, status }).toEqual({ value, status: 400 })
    }
  })

  it.each(ordered)('%s is compared and sorted by REST', async (name, sample) => {
    const [first, second, third, without] = await fill(name, sample)
    const middle = toText(sample.values[1])
    expect(await ids(`${name}.gt=${middle}`)).toEqual([third])
    expect(await ids(`${name}.lte=${middle}`)).toEqual([first, second])
    expect(await ids(`orderBy=${name}`)).toEqual([first, second, third, without])
    expect(await ids(`orderBy=-${name}`)).toEqual([third, second, first, without])
  })

  it.each(each)('%s is written and read by GraphQL', async (name, sample) => {
    await fill(name, sample)
    const values = [...sample.values, null].map((value) =>
      value === null ? value : graphqlValue(name, value),
    )
    expect(await execute(`{ samples { id ${name} } }`)).toMatchObject({
      data: { samples: values.map((value) => ({ [name]: value })) },
    })
    const create = `mutation ($input: SampleInput) { createSample(input: $input) { id ${name} } }`
    const input = { [name]: graphqlValue(name, sample.values[0]) }
    const expected = { data: { createSample: input } }
    expect(await app.graphql.execute(create, { input })).toMatchObject(expected)
    expect(await resolved.execute(create.replace('id', 'slow id'), { input }, {})).toMatchObject(
      expected,
    )
  })

  it.each(comparable)('%s is filtered by GraphQL', async (name, sample) => {
    const [first] = await fill(name, sample)
    const document = `query ($where: SampleWhere) { samples(where: $where) { id ${name} } }`
    const [value] = sample.values
    const found = { data: { samples: [{ id: String(first), [name]: value }] } }
    expect(await execute(document, { where: { [name]: { eq: value } } })).toEqual(found)
    expect(await execute(document, { where: { [name]: { in: [value] } } })).toEqual(found)
  })

  it.each(ordered)('%s is compared, sorted and paged by GraphQL', async (name, sample) => {
    const all = (await fill(name, sample)).map(String)
    const list = `query ($where: SampleWhere) { samples(where: $where) { id } }`
    const middle = sample.values[1]
    // A GraphQL enum has no order to compare by.
    const where = sample.rules?.enum === undefined ? { gt: middle } : { eq: sample.values[2] }
    const larger = await execute(list, { where: { [name]: where } })
    expect(larger).toEqual({ data: { samples: [{ id: all[2] }] } })
    const page = `query ($after: String) { samplesPage(first: 1, after: $after, orderBy: [{ ${name}: desc }]) { edges { cursor node { id ${name} } } } }`
    const pagedIds: string[] = []
    for (let after: string | undefined; pagedIds.length < 4;) {
      const { data } = (await execute(page, { after })) as { data: { samplesPage: Page } }
      const [edge] = data.samplesPage.edges
      if (edge === undefined) break
      pagedIds.push(edge.node.id)
      after = edge.cursor
    }
    expect(pagedIds).toEqual([all[2], all[1], all[0], all[3]])
  })
})

describe.each(engines)('%s: patterns', (_name, open) => {
  it('startsWith, endsWith and contains match special characters literally', async () => {
    const database = await connect(await open(), { records: [Sample] })
    await database.sync()
    const names = ['100% wool', '100 wool', 'a_b', 'aXb', 'Ab', 'back\\slash']
    const records = database.records<{ id: number; string: string }>(Sample as never)
    for (const string of names) await records.create({ string })
    @Module({ imports: [App], records: [Sample] })
    class TestModule {}
    const env = { APP_API_KEY: 'key' }
    const app = await bootstrap(TestModule, { database, listen: false, logger: false, env })
    const expected: [string, string, string[]][] = [
      ['startsWith', '100%', ['100% wool']],
      ['startsWith', 'a', ['a_b', 'aXb']],
      ['endsWith', 'wool', ['100% wool', '100 wool']],
      ['endsWith', '_b', ['a_b']],
      ['contains', '_', ['a_b']],
      ['contains', '\\', ['back\\slash']],
      ['contains', '', names],
    ]
    for (const [operator, text, found] of expected) {
      const where = { string: { [operator]: text } }
      expect((await records.list({ where })).map(({ string }) => string)).toEqual(found)
      const url = `/samples?string.${operator}=${encodeURIComponent(text)}`
      const listed = (await app.inject({ url })).json() as { string: string }[]
      expect(listed.map(({ string }) => string)).toEqual(found)
      const document = 'query ($where: SampleWhere) { samples(where: $where) { string } }'
      const samples = found.map((string) => ({ string }))
      expect(await app.graphql.execute(document, { where })).toEqual({ data: { samples } })
    }
    const refused = await app.inject({ url: '/samples?integer.contains=5' })
    expect(refused.json()).toMatchObject({ errors: [{ path: 'integer.contains' }] })
    await app.close()
    await database.close()
  })
})

interface Page {
  readonly edges: readonly { readonly cursor: string; readonly node: { readonly id: string } }[]
}

describe('toTimestamp', () => {
  it.each<[unknown, string | undefined]>([
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20T10:00', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20 10:00:05', '2026-11-20T10:00:05.000Z'],
    ['2026-11-20T12:00:00+02:00', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20t10:00:00.123456z', '2026-11-20T10:00:00.123Z'],
    ['2026-12-31T23:30:00-01:00', '2027-01-01T00:30:00.000Z'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    ['0000-01-01T00:00:00+01:00', undefined],
    ['9999-12-31T23:59:59-01:00', undefined],
    ['2026-02-30', undefined],
    ['2026-11-20T24:00:00Z', undefined],
    ['2026-11-20T10:00:60Z', undefined],
    ['2026-11-20T10', undefined],
    ['+002026-11-20', undefined],
    [new Date(NaN), undefined],
    [1700000000000, undefined],
    [null, undefined],
  ])('converts %p to UTC: %p', (value, expected) => {
    expect(toTimestamp(value)).toBe(expected)
  })
})
