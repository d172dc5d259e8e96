/** REST and GraphQL requests for sharded records. Every statement names the shard, from the caller's access rules or the request. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Auth, bootstrap, Database, type Application } from 'filigree'
import { subscribe } from '../graphql/event-client.js'
import { startBothEngines } from './both-engines.js'
import { Firm, Machine, Office, Part, Project, shared, Task, Watch } from './sharded-office.js'

const engines = await startBothEngines()
type Values = { [name: string]: unknown }

describe.each(engines)('%s', (_engine, open) => {
  let app: Application
  let database: Database
  let watch: Watch

  beforeAll(async () => {
    const env = { APP_JWT_SECRET: 'a secret of thirty-two characters', APP_API_KEY: 'key' }
    app = await bootstrap(Office, {
      port: 0,
      host: '127.0.0.1',
      logger: false,
      database: await open(),
      env,
    })
    database = app.get(Database)
    watch = new Watch(database)
  })
  afterAll(() => app.close())

  beforeEach(() => watch.begin())
  afterEach(() => watch.end())

  const sendRaw = async (
    method: string,
    url: string,
    tenant: string | undefined,
    json?: Values,
  ) => {
    const token =
      tenant === undefined ? 'key' : await app.get(Auth).getToken({ sub: tenant, tenant })
    const headers = { authorization: `Bearer ${token}` }
    return app.inject({ method, url, headers, ...(json && { json }) })
  }

  const send = async (...request: Parameters<typeof sendRaw>) => {
    const response = await sendRaw(...request)
    const body = response.body === '' ? undefined : (JSON.parse(response.body) as Values)
    return { status: response.status, body }
  }

  it("REST reads and writes in the shard of the caller's rows", async () => {
    const path = `/projects/${shared}`
    expect(await send('GET', `${path}?with=tasks`, 'a')).toMatchObject({
      status: 200,
      body: { tenantId: 'a', tasks: [{ title: 'of a' }] },
    })
    expect((await send('GET', path, 'c')).status).toBe(404)
    expect((await send('GET', `${path}?tenantId=b`, 'a')).status).toBe(404)
    expect((await send('PATCH', path, 'a', { hours: 4 })).body).toMatchObject({ hours: 4 })
    expect((await send('PATCH', `${path}?tenantId=b`, 'a', { hours: 5 })).status).toBe(404)
    expect((await send('PATCH', path, 'a', { tenantId: 'b', hours: 6 })).status).toBe(400)
    const nestedTasks = {
      tasks: { update: [{ id: shared, title: 'mine' }], create: [{ title: 'x', tenantId: 'a' }] },
    }
    expect((await send('PATCH', path, 'a', nestedTasks)).status).toBe(200)
    expect(await send('GET', '/tasks?orderBy=title&project.name=Roof&limit=1', 'a')).toMatchObject({
      status: 200,
      body: [{ tenantId: 'a', title: 'mine' }],
    })
    expect((await send('GET', '/tasks/aggregate?count=true', 'a')).body).toMatchObject([
      { count: 2 },
    ])
    const groups = await send('GET', '/tasks/aggregate?groupBy=project.name&count=true', 'a')
    expect(groups.body).toEqual([{ 'project.name': 'Roof', count: 2 }])
    const strange = { tenantId: 'b', name: 'Mine' }
    expect((await send('POST', '/projects', 'a', strange)).status).toBe(403)
    expect((await send('POST', '/projects', 'a', { ...strange, tenantId: 'a' })).status).toBe(201)
    expect((await send('DELETE', `/tasks/${shared}?tenantId=b`, 'a')).status).toBe(404)
    expect((await send('DELETE', `/tasks/${shared}`, 'a')).status).toBe(204)
  })

  it('REST replaces rows, and lists pages of a shard', async () => {
    const replacement = { tenantId: 'a', name: 'Roof', hours: 8 }
    expect((await send('PUT', `/projects/${shared}`, 'a', replacement)).body).toMatchObject(
      replacement,
    )
    for (const title of ['u', 'v']) await database.records(Task).create({ tenantId: 'a', title })
    const titles: unknown[] = []
    let next: string | undefined = '/tasks?orderBy=title&limit=1&count=estimate'
    while (next !== undefined) {
      const response = await sendRaw('GET', next, 'a')
      titles.push(...(JSON.parse(response.body) as Values[]).map(({ title }) => title))
      next = /<([^>]+)>/.exec(response.headers.link ?? '')?.[1]
    }
    expect(titles).toStrictEqual(['of a', 'u', 'v'])
    expect((await send('GET', '/tasks?search=of', 'a')).body).toMatchObject([{ title: 'of a' }])
  })

  it('REST writes and finds a row of a shard that the caller sees as a whole by one statement', async () => {
    const statementsOf = async (...request: Parameters<typeof sendRaw>) => {
      const before = watch.statements.length
      const { status, body } = await send(...request)
      const statements = watch.statements.slice(before)
      return { status, body, statements: statements.filter((sql) => /^begin|"project"/.test(sql)) }
    }
    const values = { tenantId: 'a', name: 'Cellar' }
    const created = await statementsOf('POST', '/projects', 'a', values)
    expect(created).toMatchObject({ status: 201, body: values })
    expect(created.statements).toStrictEqual([expect.stringMatching(/^insert into "project"/)])
    const path = `/projects/${String(created.body?.id)}`
    const found = await statementsOf('GET', path, 'a')
    expect(found).toMatchObject({ status: 200, body: values })
    expect(found.statements).toStrictEqual([expect.not.stringContaining('order by')])
    const changed = await statementsOf('PATCH', path, 'a', { hours: 2 })
    expect(changed).toMatchObject({ status: 200, body: { hours: 2 } })
    expect(changed.statements).toHaveLength(1)
    expect(changed.statements[0]?.match(/"tenant_id" = /g)).toHaveLength(1)
    const listed = await statementsOf('GET', '/projects?count=none', 'a')
    expect(listed.statements).toHaveLength(1)
    expect(listed.statements[0]?.match(/"tenant_id" = /g)).toHaveLength(1)
    const byRequest = await statementsOf('POST', '/projects?tenantId=c', undefined, {
      tenantId: 'c',
      name: 'Attic',
    })
    expect(byRequest.status).toBe(201)
    expect(byRequest.statements).toHaveLength(1)
  })

  it('REST reads a page of a shard together with its total', async () => {
    const tasks = database.records(Task)
    const titles = Array.from(
      { length: 12 },
      (_, index) => `t${String(index).padStart(2, '0')} new`,
    )
    for (const tenantId of ['a', 'c'])
      await tasks.insertMany(titles.map((title) => ({ tenantId, title })))
    const pageOf = async (query: string) => {
      const before = watch.statements.length
      const { status, headers, body } = await sendRaw('GET', `/tasks?${query}`, 'a')
      const statements = watch.statements.slice(before).filter((sql) => sql.includes('"task"'))
      return {
        answer: [status, headers['x-total-count'], (JSON.parse(body) as Values[]).length],
        next: /<([^>]+)>/.exec(headers.link ?? '')?.[1],
        statements: statements.length,
      }
    }
    const together = [
      ['limit=5', '13', 5],
      ['limit=20', '13', 13],
      ['limit=5&count=exact', '13', 5],
      ['limit=5&offset=10&orderBy=-title', '13', 3],
      ['limit=5&title.gte=t03&title.ne=t04%20new', '8', 5],
      ['limit=5&search=new', '12', 5],
      ['limit=5&search=new&orderBy=title', '12', 5],
      ['limit=5&project.name=Roof', '1', 1],
      ['limit=1&with=project&orderBy=-project.name', '13', 1],
      ['tenantId=a&title=t03%20new', '1', 1],
    ] as const
    for (const [query, total, rows] of together)
      expect([query, await pageOf(query)]).toMatchObject([
        query,
        { answer: [200, total, rows], statements: 1 },
      ])
    const apart = [
      ['limit=0', '13', 0],
      ['limit=5&offset=20', '13', 0],
      ['title=none', '0', 0],
      ['limit=5&distinct=title', '13', 5],
      ['limit=5&count=none', undefined, 5],
    ] as const
    for (const [query, total, rows] of apart)
      expect([query, (await pageOf(query)).answer]).toStrictEqual([query, [200, total, rows]])
    const first = await pageOf('limit=8&title.gte=t03')
    expect(first.answer).toStrictEqual([200, '9', 8])
    expect(await pageOf(String(first.next).replace(/^.*\?/, ''))).toMatchObject({
      answer: [200, '9', 1],
      statements: 1,
    })
    const byTitle = await pageOf('limit=8&orderBy=title')
    expect((await pageOf(String(byTitle.next).replace(/^.*\?/, ''))).answer[1]).toBe('13')
    await tasks.insertMany(Array.from({ length: 10_000 }, () => ({ tenantId: 'a', title: 'u' })))
    const many = await sendRaw('GET', '/tasks?limit=1', 'a')
    expect(many.headers['x-total-count']).toBeUndefined()
    expect(many.headers['x-total-count-estimate']).toBe('10013')
    expect((await pageOf('limit=1&count=exact')).answer).toStrictEqual([200, '10013', 1])
  })

  it('REST refuses a row that the caller could not see, in each shard', async () => {
    const project = { tenantId: 'c', name: 'Attic' }
    expect((await send('POST', '/projects?tenantId=a', undefined, project)).status).toBe(403)
    expect((await send('POST', '/projects?tenantId=c', 'a', project)).status).toBe(403)
    const untitled = { tenantId: 'a', title: '' }
    expect((await send('POST', '/tasks', 'a', untitled)).status).toBe(403)
    expect(await database.records(Project).count({ tenantId: 'c' })).toBe(0)
    expect(await database.records(Task).count({ tenantId: 'a' })).toBe(1)
  })

  it('REST requires the shard when the rows rule names none', async () => {
    const path = `/projects/${shared}`
    const missing = { status: 400, body: { errors: [{ path: 'tenantId' }] } }
    expect(await send('GET', path, undefined)).toMatchObject(missing)
    expect(await send('GET', '/projects', undefined)).toMatchObject(missing)
    expect(await send('PATCH', path, undefined, { hours: 4 })).toMatchObject(missing)
    expect(await send('DELETE', path, undefined)).toMatchObject(missing)
    const at = '?tenantId=a'
    expect((await send('GET', path + at, undefined)).body).toMatchObject({ tenantId: 'a' })
    expect((await send('GET', `/projects${at}`, undefined)).body).toMatchObject([{ tenantId: 'a' }])
    expect((await send('PATCH', path + at, undefined, { hours: 4 })).status).toBe(200)
    expect((await send('DELETE', path + at, undefined)).status).toBe(204)
    const created = await send('POST', '/bills', undefined, { tenantId: 3, text: 't' })
    expect(created.status).toBe(201)
    expect(
      (await send('GET', `/bills/${String(created.body?.id)}?tenantId=x`, undefined)).status,
    ).toBe(400)
  })

  const graphql = async (query: string, tenant: string | undefined) =>
    (await send('POST', '/graphql', tenant, { query })).body as {
      data?: Values | null
      errors?: { extensions: Values }[]
    }
  const required = [{ extensions: { code: 'VALIDATION' } }]
  /** Selecting `label` makes resolvers run the operation. */
  const ways = [
    ['by the plan', ''],
    ['by resolvers', 'label'],
  ] as const

  it.each(ways)('GraphQL reads the shard of the caller, %s', async (_way, label) => {
    const nested = `tasks { title project { tenantId ${label} } }`
    expect(await graphql(`{ project(id: "${shared}") { tenantId ${nested} } }`, 'a')).toMatchObject(
      {
        data: {
          project: { tenantId: 'a', tasks: [{ title: 'of a', project: { tenantId: 'a' } }] },
        },
      },
    )
    const list = `{ tasks(where: { project: { name: { eq: "Roof" } } }) { title project { name ${label} tasks { title } } } }`
    expect((await graphql(list, 'a')).data).toMatchObject({
      tasks: [{ title: 'of a', project: { name: 'Roof', tasks: [{ title: 'of a' }] } }],
    })
    const page = `{ projectsPage(first: 1) { totalCount edges { node { tenantId ${label} ${nested} } } pageInfo { hasNextPage } } projectCount }`
    expect((await graphql(page, 'a')).data).toMatchObject({
      projectsPage: {
        totalCount: 1,
        edges: [{ node: { tenantId: 'a', tasks: [{ title: 'of a' }] } }],
      },
      projectCount: 1,
    })
    const aggregateQuery =
      '{ projectsAggregate { count sum { hours } } projects(distinct: [tenantId]) { name } }'
    expect((await graphql(aggregateQuery, 'a')).data).toStrictEqual({
      projectsAggregate: [{ count: 1, sum: { hours: 1 } }],
      projects: [{ name: 'Roof' }],
    })
  })

  it('GraphQL groups by fields of related records in the shard', async () => {
    const query = '{ tasksAggregate(groupBy: [project_name]) { project { name } count } }'
    expect((await graphql(query, 'a')).data).toStrictEqual({
      tasksAggregate: [{ project: { name: 'Roof' }, count: 1 }],
    })
  })

  it.each(ways)(
    'GraphQL requires the shard when the rows rule names none, %s',
    async (_way, label) => {
      const selection = `{ tenantId ${label} tasks { title project { tenantId } } }`
      for (const field of [
        `project(id: "${shared}") ${selection}`,
        `projects ${selection}`,
        `projects(where: { hours: { eq: 1 } }) ${selection}`,
        `projectsPage { edges { node ${selection} } }`,
        'projectCount',
        'projectsAggregate { count }',
      ])
        expect((await graphql(`{ ${field} }`, undefined)).errors).toMatchObject(required)
      const expectedProject = {
        tenantId: 'a',
        tasks: [{ title: 'of a', project: { tenantId: 'a' } }],
      }
      const one = `{ project(id: "${shared}", tenantId: "a") ${selection} }`
      expect((await graphql(one, undefined)).data).toMatchObject({ project: expectedProject })
      const where = '(where: { tenantId: { eq: "a" } })'
      const lists = `{ projects${where} ${selection} projectsPage${where} { totalCount edges { node ${selection} } } projectCount${where} }`
      expect((await graphql(lists, undefined)).data).toMatchObject({
        projects: [expectedProject],
        projectsPage: { totalCount: 1, edges: [{ node: expectedProject }] },
        projectCount: 1,
      })
      expect(
        (await graphql(`{ project(id: "${shared}", tenantId: "b") { name } }`, 'a')).data,
      ).toStrictEqual({
        project: null,
      })
    },
  )

  it('GraphQL writes in the shard of the caller', async () => {
    const update = (input: string): string =>
      `mutation { updateProject(id: "${shared}", input: ${input}) { hours tasks { title project { tenantId } } } }`
    expect((await graphql(update('{ hours: 3 }'), 'a')).data).toStrictEqual({
      updateProject: { hours: 3, tasks: [{ title: 'of a', project: { tenantId: 'a' } }] },
    })
    expect((await graphql(update('{ tenantId: "b" }'), 'a')).errors).toBeDefined()
    const nested = `{ hours: 4, tasks: { update: [{ id: "${shared}", title: "mine" }], create: [{ tenantId: "a", title: "x" }] } }`
    const changed = (await graphql(update(nested), 'a')).data?.updateProject as {
      tasks: { title: string }[]
    }
    expect(changed.tasks.map(({ title }) => title).sort()).toStrictEqual(['mine', 'x'])
    const many = `mutation {
      createTasks(input: [{ tenantId: "a", title: "s" }, { tenantId: "a", title: "t" }]) { title tenantId }
      updateTasks(input: [{ id: "${shared}", title: "u" }]) { title tenantId }
      upsertProject(by: "name", input: { tenantId: "a", name: "Roof", hours: 9 }) { id hours }
      deleteTasks(ids: ["${shared}"])
    }`
    expect(await graphql(many, 'a')).toStrictEqual({
      data: {
        createTasks: [
          { title: 's', tenantId: 'a' },
          { title: 't', tenantId: 'a' },
        ],
        updateTasks: [{ title: 'u', tenantId: 'a' }],
        upsertProject: { id: shared, hours: 9 },
        deleteTasks: 1,
      },
    })
    const strange = 'mutation { createTask(input: { tenantId: "b", title: "t" }) { title } }'
    expect((await graphql(strange, 'a')).errors).toMatchObject([
      { extensions: { code: 'FORBIDDEN' } },
    ])
    expect((await graphql(`mutation { deleteProject(id: "${shared}") }`, 'a')).data).toStrictEqual({
      deleteProject: true,
    })
  })

  it('GraphQL writes in the shard that an argument or the input names', async () => {
    const at = `id: "${shared}", tenantId: "a"`
    const bare = [
      `updateProject(id: "${shared}", input: { hours: 3 }) { hours }`,
      `deleteProject(id: "${shared}")`,
      `deleteTasks(ids: ["${shared}"])`,
      `updateTasks(input: [{ id: "${shared}", title: "u" }]) { title }`,
    ]
    for (const field of bare)
      expect((await graphql(`mutation { ${field} }`, undefined)).errors).toMatchObject(required)
    const named = `mutation {
      updateProject(${at}, input: { hours: 3 }) { hours tasks { title } }
      updateTask(id: "${shared}", input: { tenantId: "a", title: "v" }) { title project { hours } }
      updateTasks(input: [{ id: "${shared}", tenantId: "a", title: "u" }]) { title }
      createProject(input: { tenantId: "a", name: "Wall" }) { tenantId }
      upsertProject(by: "name", input: { tenantId: "a", name: "Wall", hours: 6 }) { hours }
      deleteTasks(ids: ["${shared}"], tenantId: "a")
      deleteProject(${at})
    }`
    expect(await graphql(named, undefined)).toStrictEqual({
      data: {
        updateProject: { hours: 3, tasks: [{ title: 'of a' }] },
        updateTask: { title: 'v', project: { hours: 3 } },
        updateTasks: [{ title: 'u' }],
        createProject: { tenantId: 'a' },
        upsertProject: { hours: 6 },
        deleteTasks: 1,
        deleteProject: true,
      },
    })
  })

  it("subscriptions report changes of the subscriber's shard", async () => {
    const token = await app.get(Auth).getToken({ sub: 'a', tenant: 'a' })
    const query =
      'subscription { taskChanged { event task { title project { tenantId tasks { title } } } } }'
    const url = `${app.url}/graphql`
    const refused = await subscribe(url, query, { token: 'key' })
    expect((await refused.next())?.errors).toMatchObject(required)
    const client = await subscribe(url, query, { token })
    const tasks = database.records(Task)
    await tasks.create({ tenantId: 'c', title: 'not theirs' })
    await tasks.update(shared, { title: 'now' }, { tenantId: 'a' })
    expect(await client.next()).toStrictEqual({
      data: {
        taskChanged: {
          event: 'updated',
          task: { title: 'now', project: { tenantId: 'a', tasks: [{ title: 'now' }] } },
        },
      },
    })
    await tasks.delete(shared, { tenantId: 'a' })
    expect(await client.next()).toMatchObject({ data: { taskChanged: { event: 'deleted' } } })
    client.leave()
  })

  it('a tenant record returns its sharded rows', async () => {
    const { id: firmId } = await database.records(Firm).create({ name: 'Mill' })
    const machine = await database.records(Machine).create({ firmId, name: 'Saw' })
    await database.records(Part).create({ firmId, machineId: machine.id })
    const found = await send('GET', `/firms/${firmId}?with=machines.parts`, 'a')
    expect(found.body).toMatchObject({ machines: [{ name: 'Saw', parts: [{ firmId }] }] })
    const query = `{ firm(id: ${firmId}) { name machines { name firm { name } parts { firmId } } } }`
    expect((await graphql(query, 'a')).data).toStrictEqual({
      firm: {
        name: 'Mill',
        machines: [{ name: 'Saw', firm: { name: 'Mill' }, parts: [{ firmId }] }],
      },
    })
    const nested = await send('POST', '/firms', 'a', {
      name: 'x',
      machines: [{ firmId, name: 'y' }],
    })
    expect(nested).toMatchObject({ status: 400, body: { errors: [{ path: 'machines' }] } })
  })

  it('the OpenAPI document describes the shard parameter', async () => {
    const { body } = await send('GET', '/swagger/openapi.json', 'a')
    const { paths } = body as { paths: Record<string, Record<string, { parameters?: Values[] }>> }
    const named = (method: string): unknown =>
      paths['/projects/{id}']?.[method]?.parameters?.find(({ name }) => name === 'tenantId')
    for (const method of ['get', 'patch', 'put', 'delete'])
      expect(named(method)).toMatchObject({ in: 'query', schema: { type: 'string' } })
  })
})
