/** `recordsAs`, `describeRecord`, `addRecords` and `@AfterWrite`. Source: docs/extending.md; docs/records/writes.md, Hooks. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import {
  AfterWrite,
  addRecords,
  connect,
  Controller,
  Database,
  describeFields,
  describeRecord,
  Field,
  Get,
  HttpError,
  Module,
  Record as Row,
  recordsAs,
  Secured,
  type Generated,
  type HttpRequest,
  type WriteContext,
} from 'filigree'
import { testApplication, type TestApplication } from 'filigree/testing'

@Row
class Trace {
  @Field('id') id!: number
  @Field('string') message!: string
}

@Row<Box>({ rows: (user) => ({ owner: user?.sub ?? '' }), writes: 'packer' })
class Box {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('string') owner!: string
  @Field('integer', { default: 1 }) @Secured('boss') price!: Generated<number>
  @Field('string', { hidden: true, default: 'x' }) secret!: Generated<string>

  @AfterWrite()
  async trace({ before, changed, records }: WriteContext<Box>): Promise<void> {
    const message = `${this.id} ${String(before?.name)} ${[...changed].join()}`
    await records(Trace).create({ message })
    if (this.name === 'refused') throw new HttpError(409, 'Refused.')
  }
}
addRecords(Box, [Trace])

@Controller('/boxes')
class Boxes {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/rights')
  @Secured
  async rights(request: HttpRequest): Promise<object> {
    const { may, fields } = await recordsAs(this.database, Box, request).rights()
    return { may, fields: fields.map(({ name }) => name) }
  }
}

@Module({ controllers: [Boxes], records: [Box] })
class App {}

let app: TestApplication
beforeAll(async () => {
  app = await testApplication(App)
})
afterAll(() => app.close())

it('reports what the caller may do', async () => {
  const rightsOf = async (roles: string[]) =>
    (await app.as({ sub: 'ann', roles }).get('/boxes/rights')).body as object
  expect(await rightsOf([])).toEqual({
    may: { read: true, create: false, update: false, delete: false },
    fields: ['id', 'name', 'owner'],
  })
  expect(await rightsOf(['packer', 'boss'])).toEqual({
    may: { read: true, create: true, update: true, delete: true },
    fields: ['id', 'name', 'owner', 'price'],
  })
  expect(describeRecord(Box)).toMatchObject({ plural: 'boxes', key: { name: 'id' } })
  expect(describeFields(Box).map(({ name }) => name)).not.toContain('secret')
})

it('runs @AfterWrite after the row is stored, in the same transaction', async () => {
  const database = await connect('sqlite::memory:', { records: [Box] })
  await database.sync()
  const boxes = database.records(Box)
  await boxes.create({ name: 'a', owner: 'ann' })
  await boxes.update(1, { name: 'b' })
  await boxes.updateWhere({ id: 1 }, { owner: 'bob' })
  const messages = async () => (await database.records(Trace).list()).map((one) => one.message)
  const before = ['1 undefined id,name,owner,price,secret', '1 a name', '1 b owner']
  expect(await messages()).toEqual(before)
  await database.transaction(async () => {
    await expect(boxes.create({ name: 'refused', owner: 'ann' })).rejects.toThrow('Refused.')
    await expect(boxes.update(1, { name: 'refused' })).rejects.toThrow('Refused.')
  })
  expect([await messages(), await boxes.count({ name: 'b' })]).toEqual([before, 1])
  await database.close()
})
