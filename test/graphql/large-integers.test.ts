/** Integers of more than 32 bits, in every part of GraphQL. Source: decisions, GraphQL. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  connect,
  Field,
  GraphQL,
  HasMany,
  Record,
  type Database,
  type Generated,
  type Rel,
} from 'filigree'
import { startBothEngines } from '../records/both-engines.js'

@Record
class Disk {
  @Field('id') id!: number
  @Field('integer', { max: 9_000_000_000 }) bytes!: number
  @Field('integer', { min: -9_000_000_000, optional: true }) offset?: number
  @Field('integer', { list: true, max: 9_000_000_000, default: [] }) parts!: Generated<number[]>
  @Field('integer', { min: 0, max: 100, default: 1 }) share!: Generated<number>
  @Field('integer', { default: 1 }) count!: Generated<number>
  @Field('integer', { optional: true, nullable: true }) rackId?: number | null
  @BelongsTo(() => Rack) rack?: Rel<Rack>
}
@Record
class Rack {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Disk) disks!: Rel<Disk[]>
}

const large = 3_000_000_000

describe.each(await startBothEngines())('%s: integers over 32 bits', (_name, open) => {
  let database: Database
  let graphql: GraphQL
  const warnings: string[] = []

  beforeAll(async () => {
    database = await connect(await open(), { records: [Disk, Rack] })
    await database.sync()
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    warnings.length = 0
    const silent = (): void => undefined
    const warn = (_details: object, message: string): void => {
      warnings.push(message)
    }
    graphql = new GraphQL({
      database,
      log: { error: silent, warn, info: silent, debug: silent },
    })
    graphql.schema.fromOrm(Disk).fromOrm(Rack)
    graphql.schema.addField('Disk', 'slow', { type: 'String', resolve: () => 'slow' })
    for (const { id } of await database.records(Disk).list())
      await database.records(Disk).delete(id)
  })

  const execute = async (query: string, variables: object = {}) => {
    const { data, errors } = await graphql.execute(query, variables as { [name: string]: unknown })
    return errors === undefined ? data : errors.map(({ message }) => message)
  }

  it('are Integer in types and inputs where max or min require it, else Int', () => {
    const types = /type Disk \{[^}]*\}/.exec(graphql.sdl)?.[0] ?? ''
    const input = /input DiskInput \{[^}]*\}/.exec(graphql.sdl)?.[0] ?? ''
    for (const text of [types, input]) {
      expect(text).toMatch(/\bbytes: Integer\b/)
      expect(text).toMatch(/\boffset: Integer\b/)
      expect(text).toMatch(/\bparts: \[Integer!\]/)
      expect(text).toMatch(/\bshare: Int\b/)
      expect(text).toMatch(/\bcount: Int\b/)
    }
  })

  it.each([
    ['the planner', ''],
    ['the executor', ' slow'],
  ])('are written and returned by %s', async (_path, extra) => {
    const selection = `{ bytes offset parts share${extra} }`
    const row = {
      bytes: large,
      offset: -large,
      parts: [large, 1],
      share: 7,
      ...(extra === '' ? {} : { slow: 'slow' }),
    }
    const values = `bytes: ${large}, offset: -${large}, parts: [${large}, 1], share: 7`
    expect(await execute(`mutation { createDisk(input: { ${values} }) ${selection} }`)).toEqual({
      createDisk: row,
    })
    const create = `mutation ($input: DiskInput!) { createDisk(input: $input) ${selection} }`
    const input = { bytes: large, offset: -large, parts: [large, 1], share: 7 }
    expect(await execute(create, { input })).toEqual({ createDisk: row })
    expect(await execute(`mutation { createDisks(input: [{ ${values} }]) ${selection} }`)).toEqual({
      createDisks: [row],
    })
    const list = `{ disks(where: { bytes: { eq: ${large} }, parts: { has: ${large} } }) ${selection} }`
    expect(await execute(list)).toEqual({ disks: [row, row, row] })
    const page = `{ disksPage(first: 1, orderBy: [{ bytes: asc }]) { edges { node ${selection} } } }`
    expect(await execute(page)).toEqual({ disksPage: { edges: [{ node: row }] } })
    const nested = `mutation { createRack(input: { name: "r", disks: [{ ${values} }] }) { disks ${selection} } }`
    expect(await execute(nested)).toEqual({ createRack: { disks: [row] } })
  })

  it('are accepted in variables of Int and of Integer', async () => {
    await database.records(Disk).create({ bytes: 5 })
    const query = (type: string): string =>
      `query ($n: ${type}!) { disks(where: { bytes: { eq: $n } }) { bytes } }`
    expect(await execute(query('Int'), { n: 5 })).toEqual({ disks: [{ bytes: 5 }] })
    expect(await execute(query('Integer'), { n: large })).toEqual({ disks: [] })
    const write = 'mutation ($n: Int!) { createDisk(input: { bytes: $n }) { bytes } }'
    expect(await execute(write, { n: 5 })).toEqual({ createDisk: { bytes: 5 } })
  })

  it('are returned in aggregates', async () => {
    await database.records(Disk).insertMany([{ bytes: large }, { bytes: large + 1 }])
    const query =
      '{ disksAggregate { sum { bytes count } avg { count } min { bytes } max { bytes } } }'
    expect(await execute(query)).toEqual({
      disksAggregate: [
        {
          sum: { bytes: 2 * large + 1, count: 2 },
          avg: { count: 1 },
          min: { bytes: large },
          max: { bytes: large + 1 },
        },
      ],
    })
    expect(await execute('{ disksAggregate(groupBy: [bytes]) { bytes } }')).toEqual({
      disksAggregate: [{ bytes: large }, { bytes: large + 1 }],
    })
  })

  it('are refused over max, with the rule', async () => {
    const write = 'mutation { createDisk(input: { bytes: 9000000001 }) { bytes } }'
    expect(await execute(write)).toEqual([
      expect.stringContaining('bytes must be at most 9000000000'),
    ])
  })

  it.each([
    ['a list', '{ disks { count } }'],
    ['a list next to a resolver', '{ disks { count slow } }'],
    ['a change', 'mutation ($id: ID!) { updateDisk(id: $id, input: { share: 2 }) { count } }'],
    ['an aggregate', '{ disksAggregate { max { count } } }'],
  ])(
    'are logged with the field and the fix where the field does not allow them: %s',
    async (_what, query) => {
      const { id } = await database.records(Disk).create({ bytes: 1, count: large })
      expect(await execute(query, query.startsWith('mutation') ? { id: String(id) } : {})).toEqual([
        expect.stringContaining(`Int cannot represent non 32-bit signed integer value: ${large}`),
      ])
      expect(warnings).toEqual([
        `Disk.count is ${large}, which GraphQL's Int cannot hold, so the response has an error. To make the field an Integer, set a max (or min) beyond 32 bits: @Field('integer', { max: Number.MAX_SAFE_INTEGER }).`,
      ])
    },
  )
})
