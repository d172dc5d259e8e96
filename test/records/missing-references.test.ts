/** Errors about keys whose rows do not exist name the key, at each interface, but only to the client that sent it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  Auth,
  BeforeWrite,
  BelongsTo,
  Controller,
  Database,
  Field,
  importRows,
  ManyToMany,
  Module,
  Post,
  Record as Row,
  Secured,
  type ImportResult,
  type Rel,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { mcp, Tool } from 'filigree/mcp'
import { testApplication, type TestApplication } from 'filigree/testing'
import { engines } from '../admin/desk-fixture.js'
import { OpenLogin } from '../admin/open-login.js'
import { call } from '../modules/mcp/mcp-requests.js'
import { startPostgres, type PostgresServer } from './postgres-server.js'

@Tool
@Row
class Project {
  @Field('id') id!: number
  @Field('string') name!: string
}

/** Callers see only their own rows. */
@Tool
@Row({ rows: (user) => ({ owner: user?.sub ?? '' }) })
class Team {
  @Field('id') id!: number
  @Field('string') owner!: string
}

@Tool
@Row({ softDelete: true })
class Phase {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Tool({ writes: true })
@Row({ writes: ['editor'] })
@Admin({ title: 'title' })
class Task {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer', { nullable: true, optional: true }) projectId?: number | null
  @BelongsTo(() => Project) project?: Rel<Project> | null
  @Field('integer', { nullable: true, optional: true }) teamId?: number | null
  @BelongsTo(() => Team) team?: Rel<Team> | null
  @Field('integer', { nullable: true, optional: true }) phaseId?: number | null
  @BelongsTo(() => Phase) phase?: Rel<Phase> | null
  @ManyToMany(() => Project) projects?: Project[]
}

/** A hook writes the key. */
@Row({ writes: ['editor'] })
class Draft {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer', { nullable: true, optional: true }) projectId?: number | null
  @BelongsTo(() => Project) project?: Rel<Project> | null

  @BeforeWrite() setProject(): void {
    if (this.title === 'hook') this.projectId = 4711
  }
}

class NewTask {
  @Field('string') title!: string
  @Field('integer', { optional: true }) projectId?: number
}

class NewTasks {
  @Field(() => NewTask, { list: true }) rows!: NewTask[]
  /** Whether the program sets the key. */
  @Field('boolean', { default: false }) isOwn!: boolean
}

class File {
  @Field('text') text!: string
  @Field('boolean', { default: false }) hooked!: boolean
}

@Controller('/tasks', { crud: Task })
class TaskRoutes {}

@Controller('/drafts', { crud: Draft })
class DraftRoutes {}

@Controller('/own')
class OwnRoutes {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Secured('editor')
  @Post('/tasks', { body: NewTask })
  create(body: NewTask): Promise<object> {
    const projectId = body.projectId ?? 4711
    return this.database.records(Task).create({ title: body.title, projectId })
  }

  @Secured('editor')
  @Post('/many', { body: NewTasks })
  async createMany(body: NewTasks): Promise<number> {
    return (await this.database.records(Task).createMany(this.toRows(body))).length
  }

  @Secured('editor')
  @Post('/stream', { body: NewTasks })
  insertMany(body: NewTasks): Promise<number> {
    return this.database.records(Task).insertMany(this.toRows(body))
  }

  @Secured('editor')
  @Post('/import', { body: File })
  import(body: File): Promise<ImportResult> {
    return importRows(this.database.records(body.hooked ? Draft : Task), body.text)
  }

  private toRows({ rows, isOwn }: NewTasks): NewTask[] {
    return isOwn ? rows.map((row) => Object.assign(row, { projectId: 4711 })) : rows
  }
}

@Module({
  controllers: [OpenLogin, TaskRoutes, DraftRoutes, OwnRoutes],
  records: [Project, Team, Phase, Task, Draft],
  imports: [
    mcp(),
    admin({ path: '/admin', roles: ['editor'], records: [Task], login: { path: '/login' } }),
  ],
})
class Desk {}

interface ErrorBody {
  readonly error: string
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

const missing = 'projectId names no Project: 4711 does not exist'

describe.each(engines)('a key whose row does not exist, on %s', (engine) => {
  let server: PostgresServer | undefined
  let app: TestApplication
  beforeAll(async () => {
    if (engine === 'PostgreSQL') server = await startPostgres()
    const where = server === undefined ? {} : { database: await server.createDatabase() }
    app = await testApplication(Desk, { ...where, auth: { cookie: true } })
  })
  beforeEach(() => app.reset({ emptyTables: true }))
  afterAll(async () => {
    await app.close()
    await server?.close()
  })

  const editor = { sub: 'ed', roles: ['editor'] }
  const post = async (path: string, body: object): Promise<ErrorBody> => {
    const { status, body: error } = await app.as(editor).post(path, body)
    expect(status).toBe(409)
    return error as ErrorBody
  }
  const createTask = 'mutation ($input: TaskInput!) { createTask(input: $input) { id } }'

  it('is named at REST', async () => {
    const errors = [{ path: 'projectId', code: 'reference', message: missing }]
    const body = { title: 'a', projectId: 4711 }
    expect(await post('/tasks', body)).toEqual({ error: missing, code: 'CONFLICT', errors })
    const { id } = await app.records(Task).create({ title: 'a' })
    const changed = await app.as(editor).patch(`/tasks/${id}`, { projectId: 4711 })
    expect(changed.body).toMatchObject({ error: missing, errors })
  })

  it('is named by a handler of the application if the client sent it', async () => {
    expect(await post('/own/tasks', { title: 'a', projectId: 4711 })).toMatchObject({
      error: missing,
    })
    expect(await post('/own/tasks', { title: 'a' })).toMatchObject({
      error: 'projectId names no Project',
    })
  })

  it('is named in GraphQL, with its path', async () => {
    const variables = { input: { title: 'a', projectId: '4711' } }
    const { body } = await app.as(editor).post('/graphql', { query: createTask, variables })
    expect(body).toMatchObject({
      errors: [
        {
          message: missing,
          extensions: {
            code: 'CONFLICT',
            errors: [{ path: 'input.projectId', code: 'reference', message: missing }],
          },
        },
      ],
    })
  })

  it('is named by the MCP tool', async () => {
    const variables = { input: { title: 'a', projectId: '4711' } }
    const token = await app.get(Auth).getToken(editor)
    const { result } = await call(app, 'query', { query: createTask, variables }, { token })
    expect(result?.structuredContent).toMatchObject({ errors: [{ message: missing }] })
  })

  it.each(['?check=true', ''])('is named by the import of a CSV file%s', async (query) => {
    const file = 'title,projectId\na,4711\n'
    const headers = { 'content-type': 'text/csv' }
    const { body } = await app.as(editor).post(`/admin/api/csv/tasks${query}`, file, { headers })
    expect(body).toMatchObject({ faults: [{ row: 2, path: 'projectId', message: missing }] })
  })

  it('is reported together with the invalid cells of its row', async () => {
    const rows = Array.from({ length: 40 }, () => ',4711,x').join('\n')
    const { body } = await app
      .as(editor)
      .post('/admin/api/csv/tasks?check=true', `title,projectId,teamId\na,4711,x\n${rows}`, {
        headers: { 'content-type': 'text/csv' },
      })
    const { faults } = body as { faults: { row: number; path: string; message: string }[] }
    const first = faults.filter(({ row }) => row === 2)
    expect(first.map(({ path }) => path)).toEqual(['teamId', 'projectId'])
    expect(first[1]?.message).toBe(missing)
    const second = faults.filter(({ row }) => row === 3)
    expect(second.map(({ path }) => path)).toEqual(['teamId', 'title'])
    expect(faults).toHaveLength(50)
  })

  it('looks like a key whose row the caller may not see', async () => {
    const { id } = await app.records(Team).create({ owner: 'someone else' })
    const hidden = await post('/tasks', { title: 'a', teamId: id })
    const none = await post('/tasks', { title: 'a', teamId: 4711 })
    expect(hidden.error).toBe(`teamId names no Team: ${id} does not exist`)
    expect(none.error).toBe(hidden.error.replace(`${id} `, '4711 '))
  })

  it('is named if its row was marked as deleted', async () => {
    const { id } = await app.records(Phase).create({ name: 'a' })
    await app.records(Phase).delete(id)
    const { error } = await post('/tasks', { title: 'a', phaseId: id })
    expect(error).toBe(`phaseId names no Phase: ${id} does not exist`)
  })

  it('is named among links', async () => {
    const { id } = await app.records(Project).create({ name: 'a' })
    const { error } = await post('/tasks', { title: 'a', projectIds: [id, 4711] })
    expect(error).toBe('projects names no Project: 4711 does not exist')
  })

  it.each(['/own/many', '/own/stream'])('is named with its row at %s', async (path) => {
    const { id } = await app.records(Project).create({ name: 'a' })
    for (const count of [1, 40, 1500]) {
      const rows = Array.from({ length: count }, () => ({ title: 'a', projectId: id }))
      const body = { rows: [...rows, { title: 'b', projectId: 4711 }, { title: 'c' }] }
      const message = `${count}.projectId names no Project: 4711 does not exist`
      expect(await post(path, body)).toMatchObject({
        error: message,
        errors: [{ path: `${count}.projectId`, code: 'reference', message }],
      })
      expect(await post(path, { ...body, isOwn: true })).toMatchObject({
        error: '0.projectId names no Project',
      })
    }
    expect(await app.records(Task).count()).toBe(0)
  })

  it('is named in a file that the program imports, unless a hook wrote it', async () => {
    const importing = async (text: string, hooked: boolean): Promise<unknown> => {
      const { status, body } = await app.as(editor).post('/own/import', { text, hooked })
      expect(status).toBe(400)
      return body
    }
    expect(await importing('title,projectId\na,4711\n', false)).toMatchObject({
      errors: [{ row: 2, path: 'projectId', message: missing }],
    })
    expect(await importing('title,projectIds\na,3;4711\n', false)).toMatchObject({
      errors: [
        { row: 2, path: 'projectIds', message: 'projectIds names no Project: 3 does not exist' },
      ],
    })
    expect(await importing('title,projectId\nhook,4712\n', true)).toMatchObject({
      errors: [{ row: 2, path: 'projectId', message: 'projectId names no Project' }],
    })
  })

  it('is not named if a hook wrote it', async () => {
    for (const body of [{ title: 'hook' }, { title: 'hook', projectId: 4712 }])
      expect(await post('/drafts', body)).toMatchObject({ error: 'projectId names no Project' })
  })
})
