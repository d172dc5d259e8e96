/** Clients of sharded records: by crud and GraphQL every statement names the shard, from the caller's rows or the request. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Auth, bootstrap, Database, type Application } from 'filigree'
import { subscribe } from '../graphql/event-client.js'
import { startBothEngines } from './both-engines.js'
import { Firm, Machine, Office, Part, shared, Task, Watch } from './sharded-office.js'

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

  const askWhole = async (
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

  const ask = async (...asked: Parameters<typeof askWhole>) => {
    const answer = await askWhole(...asked)
    const body = answer.body === '' ? undefined : (JSON.parse(answer.body) as Values)
    return { status: answer.status, body }
  }

  it('serves clients the shard of their rows by crud', async () => {
    const path = `/projects/${shared}`
    expect(await ask('GET', `${path}?with=tasks`, 'a')).toMatchObject({
      status: 200,
      body: { tenantId: 'a', tasks: [{ title: 'of a' }] },
    })
    expect((await ask('GET', path, 'c')).status).toBe(404)
    expect((await ask('GET', `${path}?tenantId=b`, 'a')).status).toBe(404)
    expect((await ask('PATCH', path, 'a', { hours: 4 })).body).toMatchObject({ hours: 4 })
    expect((await ask('PATCH', `${path}?tenantId=b`, 'a', { hours: 5 })).status).toBe(404)
    expect((await ask('PATCH', path, 'a', { tenantId: 'b', hours: 6 })).status).toBe(400)
    const tied = {
      tasks: { update: [{ id: shared, title: 'mine' }], create: [{ title: 'x', tenantId: 'a' }] },
    }
    expect((await ask('PATCH', path, 'a', tied)).status).toBe(200)
    expect(await ask('GET', '/tasks?orderBy=title&project.name=Roof&limit=1', 'a')).toMatchObject({
      status: 200,
      body: [{ tenantId: 'a', title: 'mine' }],
    })
    expect((await ask('GET', '/tasks/aggregate?count=true', 'a')).body).toMatchObject([
      { count: 2 },
    ])
    const strange = { tenantId: 'b', name: 'Mine' }
    expect((await ask('POST', '/projects', 'a', strange)).status).toBe(403)
    expect((await ask('POST', '/projects', 'a', { ...strange, tenantId: 'a' })).status).toBe(201)
    expect((await ask('DELETE', `/tasks/${shared}?tenantId=b`, 'a')).status).toBe(404)
    expect((await ask('DELETE', `/tasks/${shared}`, 'a')).status).toBe(204)
  })

  it('replaces rows, and goes through pages of a shard', async () => {
    const whole = { tenantId: 'a', name: 'Roof', hours: 8 }
    expect((await ask('PUT', `/projects/${shared}`, 'a', whole)).body).toMatchObject(whole)
    for (const title of ['u', 'v']) await database.records(Task).create({ tenantId: 'a', title })
    const titles: unknown[] = []
    let next: string | undefined = '/tasks?orderBy=title&limit=1&count=estimate'
    while (next !== undefined) {
      const answer = await askWhole('GET', next, 'a')
      titles.push(...(JSON.parse(answer.body) as Values[]).map(({ title }) => title))
      next = /<([^>]+)>/.exec(answer.headers.link ?? '')?.[1]
    }
    expect(titles).toStrictEqual(['of a', 'u', 'v'])
    expect((await ask('GET', '/tasks?search=of', 'a')).body).toMatchObject([{ title: 'of a' }])
  })

  it('asks for the shard where rows name none', async () => {
    const path = `/projects/${shared}`
    const missing = { status: 400, body: { errors: [{ path: 'tenantId' }] } }
    expect(await ask('GET', path, undefined)).toMatchObject(missing)
    expect(await ask('GET', '/projects', undefined)).toMatchObject(missing)
    expect(await ask('PATCH', path, undefined, { hours: 4 })).toMatchObject(missing)
    expect(await ask('DELETE', path, undefined)).toMatchObject(missing)
    const at = '?tenantId=a'
    expect((await ask('GET', path + at, undefined)).body).toMatchObject({ tenantId: 'a' })
    expect((await ask('GET', `/projects${at}`, undefined)).body).toMatchObject([{ tenantId: 'a' }])
    expect((await ask('PATCH', path + at, undefined, { hours: 4 })).status).toBe(200)
    expect((await ask('DELETE', path + at, undefined)).status).toBe(204)
    const made = await ask('POST', '/bills', undefined, { tenantId: 3, text: 't' })
    expect(made.status).toBe(201)
    expect((await ask('GET', `/bills/${String(made.body?.id)}?tenantId=x`, undefined)).status).toBe(
      400,
    )
  })

  const graphql = async (query: string, tenant: string | undefined) =>
    (await ask('POST', '/graphql', tenant, { query })).body as {
      data?: Values | null
      errors?: { extensions: Values }[]
    }
  const required = [{ extensions: { code: 'VALIDATION' } }]
  /** Selected beside the rest, it leaves the operation to resolvers. */
  const ways = [
    ['by the plan', ''],
    ['by resolvers', 'label'],
  ] as const

  it.each(ways)('reads the shard of the caller by GraphQL, %s', async (_way, label) => {
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
    const figures =
      '{ projectsAggregate { count sum { hours } } projects(distinct: [tenantId]) { name } }'
    expect((await graphql(figures, 'a')).data).toStrictEqual({
      projectsAggregate: [{ count: 1, sum: { hours: 1 } }],
      projects: [{ name: 'Roof' }],
    })
  })

  it.each(ways)('asks for the shard by GraphQL where rows name none, %s', async (_way, label) => {
    const shown = `{ tenantId ${label} tasks { title project { tenantId } } }`
    for (const field of [
      `project(id: "${shared}") ${shown}`,
      `projects ${shown}`,
      `projects(where: { hours: { eq: 1 } }) ${shown}`,
      `projectsPage { edges { node ${shown} } }`,
      'projectCount',
      'projectsAggregate { count }',
    ])
      expect((await graphql(`{ ${field} }`, undefined)).errors).toMatchObject(required)
    const own = { tenantId: 'a', tasks: [{ title: 'of a', project: { tenantId: 'a' } }] }
    const one = `{ project(id: "${shared}", tenantId: "a") ${shown} }`
    expect((await graphql(one, undefined)).data).toMatchObject({ project: own })
    const where = '(where: { tenantId: { eq: "a" } })'
    const lists = `{ projects${where} ${shown} projectsPage${where} { totalCount edges { node ${shown} } } projectCount${where} }`
    expect((await graphql(lists, undefined)).data).toMatchObject({
      projects: [own],
      projectsPage: { totalCount: 1, edges: [{ node: own }] },
      projectCount: 1,
    })
    expect(
      (await graphql(`{ project(id: "${shared}", tenantId: "b") { name } }`, 'a')).data,
    ).toStrictEqual({
      project: null,
    })
  })

  it('writes in the shard of the caller by GraphQL', async () => {
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

  it('writes by GraphQL in the shard that an argument or the input names', async () => {
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

  it('tells subscribers of the changes of their shard', async () => {
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

  it('shows a tenant with its own', async () => {
    const { id: firmId } = await database.records(Firm).create({ name: 'Mill' })
    const machine = await database.records(Machine).create({ firmId, name: 'Saw' })
    await database.records(Part).create({ firmId, machineId: machine.id })
    const found = await ask('GET', `/firms/${firmId}?with=machines.parts`, 'a')
    expect(found.body).toMatchObject({ machines: [{ name: 'Saw', parts: [{ firmId }] }] })
    const query = `{ firm(id: ${firmId}) { name machines { name firm { name } parts { firmId } } } }`
    expect((await graphql(query, 'a')).data).toStrictEqual({
      firm: {
        name: 'Mill',
        machines: [{ name: 'Saw', firm: { name: 'Mill' }, parts: [{ firmId }] }],
      },
    })
    const nested = await ask('POST', '/firms', 'a', {
      name: 'x',
      machines: [{ firmId, name: 'y' }],
    })
    expect(nested).toMatchObject({ status: 400, body: { errors: [{ path: 'machines' }] } })
  })

  it('documents the parameter', async () => {
    const { body } = await ask('GET', '/swagger/openapi.json', 'a')
    const { paths } = body as { paths: Record<string, Record<string, { parameters?: Values[] }>> }
    const named = (method: string): unknown =>
      paths['/projects/{id}']?.[method]?.parameters?.find(({ name }) => name === 'tenantId')
    for (const method of ['get', 'patch', 'put', 'delete'])
      expect(named(method)).toMatchObject({ in: 'query', schema: { type: 'string' } })
  })
})
