/**
 * Reads from records without a shard into shards: related rows, counts and filters. The answers are the same on all engines,
 * and on Citus, which reads the shards by statements of their own.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  Auth,
  BelongsTo,
  bootstrap,
  connect,
  Controller,
  Database,
  Field,
  type Generated,
  Get,
  HasMany,
  type HttpRequest,
  Module,
  Record,
  recordsAs,
  Secured,
  type Application,
  type Rel,
} from 'filigree'
import { startBothEngines } from './both-engines.js'
import { pretendCitus } from './citus-catalogue.js'

type Values = { [name: string]: unknown }

/** Every machine has all firms. */
@Record
class Firm {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Machine) machines!: Rel<Machine[]>
  @HasMany(() => Depot) depots!: Rel<Depot[]>
}

/** It has no shard, and refers to a record without a shard. */
@Record
class Depot {
  @Field('id') id!: number
  @Field('string') town!: string
  @Field('integer') firmId!: number
  @BelongsTo(() => Firm) firm!: Rel<Firm>
}

@Record({
  shardBy: 'firmId',
  softDelete: true,
  rows: (user) => (user?.sub === 'guest' ? { name: { ne: 'Secret' } } : true),
})
class Machine {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer') firmId!: number
  @Field('string') name!: string
  @Secured('boss') @Field('integer', { default: 7 }) price!: Generated<number>
  @BelongsTo(() => Firm, { onDelete: 'cascade' }) firm!: Rel<Firm>
  @HasMany(() => Part) parts!: Rel<Part[]>
}

@Record({ shardBy: 'firmId' })
class Part {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('integer') firmId!: number
  @Field('string') label!: string
  @Field('string') machineId!: string
  @BelongsTo(() => Machine, { onDelete: 'cascade' }) machine!: Rel<Machine>
}

@Controller('/firms', { crud: Firm })
class Firms {}

@Controller('/depots', { crud: Depot })
class Depots {}

@Controller('/machines', { crud: Machine })
class Machines {}

@Controller('/parts', { crud: Part })
class Parts {}

@Secured
@Controller('/reports')
class Reports {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/', { args: ['request'] })
  async all(request: HttpRequest): Promise<object[]> {
    const found: object[] = []
    const rows = recordsAs(this.database, Firm, request)
    for await (const page of rows.all({ orderBy: 'id' }, { with: ['machines.parts'] }))
      found.push(...page)
    return found
  }

  @Get('/machines/<firm:int>', { args: ['request', 'firm'] })
  async machines(request: HttpRequest, firm: number): Promise<object[]> {
    const rows = recordsAs(this.database, Machine, request)
    const found: object[] = []
    for await (const page of rows.all({ firmId: String(firm) }, { with: ['parts'] }))
      found.push(...page)
    return found
  }
}

const records = [Firm, Depot, Machine, Part]

@Module({ controllers: [Firms, Depots, Machines, Parts, Reports], records })
class Works {}

const engines = await startBothEngines()
if (process.env.TEST_ENGINE !== 'citus')
  engines.push(['PostgreSQL with the catalogue of Citus', openPretended])

async function openPretended(): Promise<string> {
  const [, open] = engines.find(([name]) => name === 'PostgreSQL') ?? []
  const url = (await open?.()) ?? ''
  const database = await connect(url, { records })
  await database.sync()
  await database.close()
  return pretendCitus(url, { machine: 'firm_id', part: 'firm_id' }, ['firm'])
}

/** The aliases of sharded tables in a statement that it does not compare with the value of a shard. */
function withoutShard(statement = ''): unknown[] {
  const aliases = [...statement.matchAll(/"(?:machine|part)" as "(\w+)"/g)].map(
    ([, alias]) => alias,
  )
  return aliases.filter((alias) => !statement.includes(`"${alias}"."firm_id" = $`))
}

describe.each(engines)('%s', (engine, open) => {
  const isCitus = engine.includes('Citus')
  let app: Application
  let database: Database
  const ids: number[] = []

  beforeAll(async () => {
    app = await bootstrap(Works, {
      port: 0,
      host: '127.0.0.1',
      logger: false,
      database: await open(),
      env: { APP_JWT_SECRET: 'a secret of thirty-two characters' },
    })
    database = app.get(Database)
    for (const name of ['Mill', 'Forge', 'Idle']) {
      const { id } = await database.records(Firm).create({ name })
      ids.push(id)
      await database.records(Depot).create({ town: `Town of ${name}`, firmId: id })
      if (name === 'Idle') continue
      for (const machineName of ['Saw', 'Lathe', 'Secret', 'Scrap']) {
        const machine = await database.records(Machine).create({
          firmId: id,
          name: `${machineName}${machineName === 'Secret' ? '' : ` ${name}`}`,
        })
        await database
          .records(Part)
          .create({ firmId: id, machineId: machine.id, label: `of ${machine.name}` })
        if (machineName === 'Scrap')
          await database.records(Machine).delete(machine.id, { firmId: id })
      }
    }
  })
  afterAll(() => app.close())

  const get = async (url: string, sub = 'guest', roles: readonly string[] = []) => {
    const token = await app.get(Auth).getToken({ sub, roles })
    const response = await app.inject({ url, headers: { authorization: `Bearer ${token}` } })
    return { status: response.status, body: JSON.parse(response.body) as unknown }
  }

  const graphql = async (query: string, sub = 'guest') => {
    const token = await app.get(Auth).getToken({ sub })
    const response = await app.inject({
      method: 'POST',
      url: '/graphql',
      headers: { authorization: `Bearer ${token}` },
      json: { query },
    })
    return JSON.parse(response.body) as Values
  }

  /** The statements that a request sends for its answer. */
  const statementsOf = async <T>(request: () => Promise<T>) => {
    const statements: string[] = []
    const listen = (message: unknown): void => {
      const { sql } = message as { sql: string }
      if (/"(?:machine|part)"/.test(sql)) statements.push(sql)
    }
    subscribe('filigree:statement', listen)
    try {
      return { statements, result: await request() }
    } finally {
      unsubscribe('filigree:statement', listen)
    }
  }

  /** Related rows are ordered by their keys, which are made in order. */
  const machinesOf = (firm: string, isGuest = true): Values[] =>
    firm === 'Idle'
      ? []
      : [`Saw ${firm}`, `Lathe ${firm}`, ...(isGuest ? [] : ['Secret'])].map((name) => ({
          name,
          parts: [{ label: `of ${name}` }],
        }))
  const firms = ['Mill', 'Forge', 'Idle']

  it('REST reads relations and counts that the client may see', async () => {
    const one = await get(`/firms/${ids[0]}?with=machines.parts&counts=machines,depots`)
    expect(one).toMatchObject({
      status: 200,
      body: { name: 'Mill', machines: machinesOf('Mill'), machinesCount: 2, depotsCount: 1 },
    })
    expect(JSON.stringify(one.body)).not.toContain('price')
    const all = await get('/firms?orderBy=id&with=machines.parts,depots&counts=machines', 'b', [
      'boss',
    ])
    expect(all).toMatchObject({
      status: 200,
      body: firms.map((name) => ({
        name,
        machines: machinesOf(name, false),
        depots: [{ town: `Town of ${name}` }],
        machinesCount: name === 'Idle' ? 0 : 3,
      })),
    })
    expect(JSON.stringify(all.body)).toContain('"price":7')
  })

  it('REST reads them below other relations, from shards and from other records', async () => {
    const depots = await get('/depots?orderBy=id&with=firm.machines')
    expect(depots).toMatchObject({
      status: 200,
      body: firms.map((name) => ({
        firm: { name, machines: machinesOf(name).map(({ name: machine }) => ({ name: machine })) },
      })),
    })
    const machines = await get(`/machines?firmId=${ids[0]}&orderBy=name&with=firm.machines`)
    expect(machines.body).toMatchObject([
      { name: 'Lathe Mill', firm: { machines: [{ name: 'Saw Mill' }, { name: 'Lathe Mill' }] } },
      { name: 'Saw Mill', firm: { machines: [{ name: 'Saw Mill' }, { name: 'Lathe Mill' }] } },
    ])
  })

  const names = (body: unknown): unknown[] =>
    (body as Values[]).map(({ name, town }) => name ?? town)

  it.each([
    ['/firms?machines.name=Saw Forge', ['Forge']],
    ['/firms?machines.name=Secret', []],
    ['/firms?machines.name=Scrap Mill', []],
    ['/firms?machines.parts.label=of Lathe Mill', ['Mill']],
    ['/firms?id=ONE&machines.name=Saw Forge', []],
    ['/firms?orderBy=-id&limit=1&machines.name.contains=Saw', ['Forge']],
    ['/depots?firm.machines.name=Saw Forge', ['Town of Forge']],
    ['/depots?orderBy=-firm.name&limit=1', ['Town of Mill']],
  ])('REST filters and sorts: %s', async (url, found) => {
    const { status, body } = await get(url.replaceAll(' ', '%20').replace('ONE', String(ids[0])))
    expect([status, names(body)]).toStrictEqual([200, found])
  })

  it('filters of shards lead through records without a shard into shards', async () => {
    const url = (name: string) =>
      `/machines?firmId=${ids[0]}&firm.machines.name=${name}%20Mill&count=exact&orderBy=name`
    expect(names((await get(url('Saw'))).body)).toStrictEqual(['Lathe Mill', 'Saw Mill'])
    expect(names((await get(url('Axe'))).body)).toStrictEqual([])
  })

  it('groups, aggregates and pages of rows with such a filter', async () => {
    const filter = 'machines.name.contains=Saw'
    expect((await get(`/firms/aggregate?count=true&${filter}`)).body).toEqual([{ count: 2 }])
    const groups = await get(
      `/depots/aggregate?groupBy=firm.name&orderBy=firm.name&count=true&firm.${filter}`,
    )
    expect(groups.body).toEqual([
      { 'firm.name': 'Forge', count: 1 },
      { 'firm.name': 'Mill', count: 1 },
    ])
    const machines = await get(`/machines/aggregate?groupBy=firm.name&count=true&firmId=${ids[1]}`)
    expect(machines.body).toEqual([{ 'firm.name': 'Forge', count: 2 }])
  })

  it('GraphQL reads relations, counts, limits and filters', async () => {
    const selection = `name machinesCount machines { name parts { label } }`
    const expected = firms.map((name) => ({
      name,
      machinesCount: name === 'Idle' ? 0 : 2,
      machines: machinesOf(name),
    }))
    expect(await graphql(`{ firms(orderBy: [{ id: asc }]) { ${selection} } }`)).toStrictEqual({
      data: { firms: expected },
    })
    const nested = `{ depots(orderBy: [{ id: asc }]) { firm { ${selection} } } }`
    expect(await graphql(nested)).toStrictEqual({
      data: { depots: expected.map((firm) => ({ firm })) },
    })
    const limited = `{ firms(orderBy: [{ id: asc }]) { machines(orderBy: [{ name: asc }], limit: 1, offset: 1) { name } } }`
    expect(await graphql(limited)).toStrictEqual({
      data: {
        firms: [
          { machines: [{ name: 'Saw Mill' }] },
          { machines: [{ name: 'Saw Forge' }] },
          { machines: [] },
        ],
      },
    })
    const saw = '{ machines: { name: { eq: "Saw Mill" } } }'
    const filtered = `{ firms(where: ${saw}) { name } firmCount(where: ${saw})
      others: firms(where: { not: ${saw} }, orderBy: [{ id: asc }]) { name } }`
    expect(await graphql(filtered)).toStrictEqual({
      data: {
        firms: [{ name: 'Mill' }],
        firmCount: 1,
        others: [{ name: 'Forge' }, { name: 'Idle' }],
      },
    })
  })

  it('programs read relations and counts, for themselves and for callers', async () => {
    const options = {
      orderBy: { id: 'asc' },
      with: ['machines.parts'],
      counts: ['machines'],
    } as const
    expect(await database.records(Firm).list(options)).toMatchObject(
      firms.map((name) => ({
        name,
        machinesCount: name === 'Idle' ? 0 : 3,
        machines: machinesOf(name, false),
      })),
    )
    expect(
      await database.records(Firm).find(ids[1] ?? 0, { with: ['machines.parts'] }),
    ).toMatchObject({
      machines: machinesOf('Forge', false),
    })
    await database.transaction(async () => {
      const found = await database
        .records(Firm)
        .list({ where: { machines: { name: 'Saw Mill' } }, ...options })
      expect(found).toMatchObject([{ name: 'Mill', machinesCount: 3 }])
    })
  })

  const machines = [
    { name: 'Lathe Mill', parts: [{ label: 'of Lathe Mill' }] },
    { name: 'Saw Mill', parts: [{ label: 'of Saw Mill' }] },
  ]
  const groups = machines.map(({ name }) => ({ 'machine.name': name, count: 1 }))
  it.each([
    ['/machines?with=parts&orderBy=name', machines],
    ['/machines?with=parts&orderBy=name&limit=1', machines.slice(0, 1)],
    ['/machines?counts=parts&orderBy=name&limit=1', [{ name: 'Lathe Mill', partsCount: 1 }]],
    [
      '/machines?with=parts.machine.parts&orderBy=-name&limit=1',
      [{ parts: [{ machine: machines[1] }] }],
    ],
    ['/machines?parts.label.contains=Saw&with=parts&limit=1', [machines[1]]],
    ['/machines?parts.machine.name=Saw%20Mill&with=parts&limit=1', [machines[1]]],
    [
      '/parts?machine.name.contains=Mill&with=machine.parts&orderBy=-machine.name&limit=1',
      [{ machine: machines[1] }],
    ],
    [
      '/parts/aggregate?machine.name.contains=Mill&groupBy=machine.name&orderBy=machine.name&count=true',
      groups,
    ],
  ])('REST reads within the shard that only the query names: %s', async (url, found) => {
    const { statements, result } = await statementsOf(() => get(`${url}&firmId=${ids[0]}`))
    expect(result).toMatchObject({ status: 200, body: found })
    expect(statements).toHaveLength(1)
    if (isCitus) expect(withoutShard(statements[0])).toStrictEqual([])
  })

  it.each([
    ['machines(where: ONE, orderBy: [{ name: asc }]) { name parts { label } }', machines],
    [
      'machines(where: ONE, orderBy: [{ name: asc }], limit: 1) { partsCount parts(limit: 1) { machine { name parts { label } } } }',
      [{ partsCount: 1, parts: [{ machine: machines[0] }] }],
    ],
    [
      'machinesPage(where: ONE, first: 1, orderBy: [{ name: desc }]) { totalCount edges { node { name parts { label } } } }',
      { totalCount: 2, edges: [{ node: machines[1] }] },
    ],
    [
      'parts(where: { and: [ONE, { machine: { name: { contains: "Mill" } } }] }, limit: 1, orderBy: [{ machine: { name: desc } }]) { machine { name parts { label } } }',
      [{ machine: machines[1] }],
    ],
  ])('GraphQL reads within the shard that only the query names: %s', async (field, found) => {
    const query = `{ found: ${field.replace('ONE', `{ firmId: { eq: ${ids[0]} } }`)} }`
    const { statements, result } = await statementsOf(() => graphql(query))
    expect(result).toStrictEqual({ data: { found } })
    expect(statements).toHaveLength(1)
    if (isCitus) expect(withoutShard(statements[0])).toStrictEqual([])
  })

  it('the readers of MCP, of the admin page and of exports read relations', async () => {
    const { body } = await get('/reports')
    expect(body).toMatchObject(firms.map((name) => ({ name, machines: machinesOf(name) })))
    const ofOne = await get(`/reports/machines/${ids[0]}`)
    expect(ofOne).toMatchObject({ status: 200, body: [...machines].reverse() })
  })
})
