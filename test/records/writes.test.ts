/** The option `writes` of records and fields: responses, API documents and start checks. Source: docs/records/access.md. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  Controller,
  Field,
  HasMany,
  Module,
  NoAuth,
  Record as Row,
  Secured,
  type Generated,
  type Rel,
} from 'filigree'
import { admin } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'
import { OpenLogin } from '../admin/open-login.js'
import { startBothEngines } from './both-engines.js'

@Row({ writes: { create: ['patient', 'desk'], update: 'desk', delete: false } })
class Visit {
  @Field('id') id!: number
  @Field('string', { unique: true }) code!: string
  @Field('string', { writes: 'desk', default: 'open', nullable: true })
  status!: Generated<string | null>
  @Field('string', { writes: false, default: 'house' }) origin!: Generated<string>
  @Secured('doctor')
  @Field('string', { writes: 'desk', optional: true, nullable: true })
  diagnosis?: string | null
  @Field('integer', { optional: true, nullable: true }) roomId?: number | null
  @BelongsTo(() => Room) room?: Rel<Room>
}

@Row({ writes: { create: false, delete: false } })
class Room {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Visit) visits!: Rel<Visit[]>
}

@Row({ writes: false })
class Entry {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Controller('/visits', { crud: Visit })
class Visits {}
@Controller('/open-visits', { crud: Visit })
@NoAuth
class OpenVisits {}
@Controller('/rooms', { crud: Room })
class Rooms {}
@Controller('/entries', { crud: Entry })
class Entries {}

@Module({
  records: [Visit, Room, Entry],
  controllers: [Visits, OpenVisits, Rooms, Entries, OpenLogin],
  imports: [
    admin({
      path: '/admin',
      roles: ['patient', 'desk'],
      records: [Visit, Room, Entry],
      login: { path: '/login' },
    }),
  ],
})
class Clinic {}

const engines = await startBothEngines()

describe.each(engines)('writes on %s', (_engine, open) => {
  let app: TestApplication
  beforeAll(async () => {
    app = await testApplication(Clinic, { database: await open() })
  })
  afterAll(() => app.close())
  beforeEach(async () => {
    await app.reset({ emptyTables: true })
    await app.records(Room).create({ name: 'East' })
    await app.records(Visit).create({ code: 'A', status: 'planned', roomId: 1 })
  })

  const as = (...roles: string[]) => app.as({ sub: 'ann', roles })

  it('405 for an operation that no client may perform, even with the static key', async () => {
    for (const caller of [app.anonymous, as('desk'), app.operator]) {
      const { status, headers } = await caller.delete('/visits/1')
      expect([status, headers.allow]).toEqual([405, 'GET, HEAD, PUT, PATCH, OPTIONS'])
    }
    expect((await as('desk').post('/entries', { text: 'x' })).status).toBe(405)
    expect((await as('desk').patch('/entries/1', { text: 'x' })).status).toBe(405)
  })

  it('403 names the field to callers who may read it', async () => {
    expect(await as('patient').post('/visits', { code: 'B', status: 'done' })).toMatchObject({
      status: 403,
      body: {
        error: 'you may not write status',
        errors: [{ path: 'status', code: 'forbidden', message: 'you may not write status' }],
      },
    })
    const secured = await as('patient').post('/visits', { code: 'B', diagnosis: 'flu' })
    expect([secured.status, secured.body]).toEqual([403, { error: 'Forbidden', code: 'FORBIDDEN' }])
    const { errors } = await as('patient').graphql(
      'mutation { createVisit(input: { code: "B", status: "done" }) { id } }',
    )
    expect(errors?.[0]).toMatchObject({
      message: 'you may not write status',
      extensions: { code: 'FORBIDDEN', errors: [{ path: 'input.status' }] },
    })
    expect(await app.records(Visit).count()).toBe(1)
  })

  it('a field with null is written, and a missing field is left unchanged', async () => {
    expect((await as('patient').post('/visits', { code: 'B', status: null })).status).toBe(403)
    const put = await as('desk').put('/visits/1', { code: 'C' })
    expect(put).toMatchObject({ status: 200, body: { code: 'C', status: 'planned' } })
    const created = await as('patient').post('/visits', { code: 'D' })
    expect(created).toMatchObject({ status: 201, body: { status: 'open', origin: 'house' } })
  })

  it('a field with writes: false is unknown in inputs', async () => {
    const { status } = await as('desk').patch('/visits/1', { origin: 'x' })
    expect(status).toBe(400)
    await app.records(Visit).update(1, { origin: 'program' })
    expect((await app.records(Visit).find(1))?.origin).toBe('program')
  })

  it('a decorator of a controller does not allow what the record forbids', async () => {
    expect((await app.anonymous.post('/open-visits', { code: 'B' })).status).toBe(401)
    expect((await as('guest').post('/open-visits', { code: 'B' })).status).toBe(403)
    expect((await as('patient').post('/open-visits', { code: 'B' })).status).toBe(201)
  })

  it('an upsert requires the right for its effect', async () => {
    const upsert = (code: string) =>
      `mutation { upsertVisit(by: code, input: { code: "${code}" }) { id } }`
    expect((await as('patient').graphql(upsert('B'))).errors).toBeUndefined()
    const refused = await as('patient').graphql(upsert('A'))
    expect(refused.errors?.[0]?.extensions).toMatchObject({ code: 'FORBIDDEN' })
    expect((await as('desk').graphql(upsert('A'))).errors).toBeUndefined()
    const anonymous = await app.anonymous.graphql(upsert('C'))
    expect(anonymous.errors?.[0]?.extensions).toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await app.records(Visit).count()).toBe(2)
  })

  it('links of a one-to-many relation are updates of the linked rows', async () => {
    const change = { visits: { disconnect: [1] } }
    expect((await as('patient').patch('/rooms/1', change)).status).toBe(403)
    expect((await as('desk').patch('/rooms/1', change)).status).toBe(200)
    expect((await as('desk').patch('/rooms/1', { visits: { delete: [1] } })).status).toBe(400)
    const byPatient = await as('patient').post('/visits', { code: 'B', room: { connect: 1 } })
    expect(byPatient.status).toBe(201)
  })

  it('the admin page offers and accepts what its user may write', async () => {
    const schemaOf = async (role: string) => {
      const { body } = await as(role).get('/admin/api/schema')
      const { records, fields } = body as {
        records: { name: string; can?: string; fields: [string, number][] }[]
        fields: { readOnly?: boolean }[]
      }
      const visit = records.find(({ name }) => name === 'Visit')
      const index = visit?.fields.find(([name]) => name === 'status')?.[1] ?? -1
      return [visit?.can, fields[index]?.readOnly === true]
    }
    expect(await schemaOf('patient')).toEqual(['c', true])
    expect(await schemaOf('desk')).toEqual(['cu', false])
    const bulk = (role: string, json: object) => as(role).post('/admin/api/bulk/visits', json)
    expect((await bulk('patient', { ids: [1], values: { code: 'B' } })).status).toBe(403)
    expect((await bulk('desk', { ids: [1], values: { status: 'done' } })).status).toBe(200)
    expect((await bulk('desk', { ids: [1], remove: true })).status).toBe(403)
    const file = (role: string, text: string) =>
      as(role).post('/admin/api/csv/visits', text, { headers: { 'content-type': 'text/csv' } })
    expect((await file('patient', 'code,status\nB,done\n')).status).toBe(403)
    expect((await file('patient', 'code\nB\n')).status).toBe(200)
    expect((await file('patient', 'id,code\n1,C\n')).status).toBe(403)
    expect((await file('desk', 'id,code,status\n1,C,done\n')).status).toBe(200)
    expect(await app.records(Visit).count()).toBe(2)
  })
})

describe('writes in descriptions', () => {
  it('the OpenAPI document has no operation and no input that no client may use', async () => {
    const app = await testApplication(Clinic)
    const { body } = await app.anonymous.get('/swagger/openapi.json')
    await app.close()
    const { paths, components } = body as {
      paths: Record<string, Record<string, { security: unknown }>>
      components: { schemas: Record<string, object> }
    }
    expect(Object.keys(paths['/visits/{id}'] ?? {})).toEqual(['get', 'patch', 'put'])
    expect(Object.keys(paths['/entries'] ?? {})).toEqual(['get'])
    expect(paths['/visits']?.post?.security).toEqual([
      { bearerAuth: ['patient'] },
      { bearerAuth: ['desk'] },
    ])
    expect(paths['/visits/{id}']?.patch?.security).toEqual([{ bearerAuth: ['desk'] }])
    const input = JSON.stringify(components.schemas.VisitValuesInput)
    expect(input).toContain('Only callers with the role desk may write it.')
    expect(input).not.toContain('origin')
  })

  it('the OpenAPI document has 403 where a field or a related record of the body requires a role', async () => {
    @Row
    class Plain {
      @Field('id') id!: number
      @Field('string', { optional: true }) note?: string
      @Field('string', { optional: true, writes: false }) grade?: string
    }
    @Row
    class Ticket {
      @Field('id') id!: number
      @Field('string', { writes: 'desk', optional: true }) status?: string
      @HasMany(() => Line) lines!: Rel<Line[]>
    }
    @Row
    class Line {
      @Field('id') id!: number
      @Secured('boss') @Field('integer', { optional: true }) price?: number
      @Field('integer') ticketId!: number
      @BelongsTo(() => Ticket) ticket?: Rel<Ticket>
    }
    @Row
    class Shelf {
      @Field('id') id!: number
      @HasMany(() => Label) labels!: Rel<Label[]>
    }
    @Row({ writes: { create: 'boss' } })
    class Label {
      @Field('id') id!: number
      @Field('integer') shelfId!: number
      @BelongsTo(() => Shelf) shelf?: Rel<Shelf>
    }
    const controllers = [Plain, Ticket, Line, Shelf].map((crud) => {
      @Controller(`/${crud.name.toLowerCase()}`, { crud })
      class Rows {}
      return Rows
    })
    @Module({ records: [Plain, Ticket, Line, Shelf, Label], controllers })
    class App {}
    const app = await testApplication(App)
    const { body } = await app.anonymous.get('/swagger/openapi.json')
    const desk = app.as({ sub: 'ann', roles: ['desk'] })
    const refused = await desk.post('/line', { price: 1, ticketId: 1 })
    await app.close()
    expect(refused.status).toBe(403)
    const { paths } = body as {
      paths: Record<string, Record<string, { responses: Record<string, object> }>>
    }
    const forbidden = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { responses }]) =>
        method !== 'get' && '403' in responses ? [`${method} ${path}`] : [],
      ),
    )
    const expected = ['ticket', 'line', 'shelf'].flatMap((name) => [
      `post /${name}`,
      `patch /${name}/{id}`,
      `put /${name}/{id}`,
    ])
    expect(forbidden.sort()).toEqual(expected.sort())
  })

  it('GraphQL has no mutation that no caller may use', async () => {
    const app = await testApplication(Clinic)
    const { data } = await app.anonymous.graphql(
      '{ __schema { mutationType { fields { name } } } }',
    )
    const { fields } = (data as { __schema: { mutationType: { fields: { name: string }[] } } })
      .__schema.mutationType
    const names = fields.map(({ name }) => name)
    expect(names.sort()).toEqual([
      'createVisit',
      'createVisits',
      'updateRoom',
      'updateRooms',
      'updateVisit',
      'updateVisits',
      'upsertVisit',
    ])
    await app.close()
  })

  it.each([
    [{ writes: { creat: 'desk' } }, 'Did you mean "create"? Options: create, update, delete.'],
    [{ writes: { create: true } }, 'Odd, writes: create cannot be true.'],
    [{ writes: [] }, 'writes cannot be used.'],
    [{ writes: { delete: '' } }, 'Odd, writes: delete cannot be used.'],
    [{ mutations: false }, 'unknown option "mutations"'],
  ])('%j stops the start', async (options, message) => {
    @Row(options as never)
    class Odd {
      @Field('id') id!: number
      @Field('string') name!: string
    }
    @Module({ records: [Odd] })
    class App {}
    await expect(testApplication(App)).rejects.toThrow(message)
  })

  it('an invalid rule of a field stops the start', async () => {
    @Row
    class Odd {
      @Field('id') id!: number
      @Field('string', { writes: true as never }) name!: string
    }
    @Module({ records: [Odd] })
    class App {}
    await expect(testApplication(App)).rejects.toThrow(
      'Odd.name: writes is not false, a role or a list of roles.',
    )
  })

  it('a crud option that names a forbidden operation stops the start', async () => {
    @Controller('/visits', { crud: Visit, only: ['list', 'delete'] })
    class Odd {}
    @Module({ controllers: [Odd] })
    class App {}
    await expect(testApplication(App)).rejects.toThrow(
      'Odd: crud names "delete", but writes of Visit forbids it to all clients.',
    )
  })
})
