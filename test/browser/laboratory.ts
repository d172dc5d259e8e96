/** A laboratory with an admin page: long titles, large numbers, and results that only the laboratory's head may change. */
import {
  Auth,
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  HasMany,
  Module,
  NoAuth,
  Post,
  Record,
  reply,
  type Application,
  type Generated,
  type Rel,
  type Reply,
} from 'filigree'
import { Admin, admin, type AdminOptions } from 'filigree/admin'

class Credentials {
  @Field('string', { minLength: 1 }) name!: string
  @Field('string') password!: string
}

@Controller('/login')
class Login {
  static readonly inject = [Auth]
  constructor(private readonly auth: Auth) {}

  @Post({ body: Credentials })
  @NoAuth
  async login(body: Credentials): Promise<Reply> {
    return reply({}).freshToken(await this.auth.getToken({ sub: body.name, roles: ['desk'] }))
  }
}

@Record
@Admin({ title: 'name' })
export class Person {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Record({ writes: 'desk' })
@Admin({
  history: true,
  title: 'title',
  list: ['title', 'state', 'barcode', 'place', 'takenAt', 'dueOn', 'mass'],
})
export class Sample {
  @Field('id') id!: number
  @Field('string', { maxLength: 255 }) title!: string
  @Field('string', { oneOf: ['waiting', 'in progress', 'done'], default: 'waiting' })
  state!: Generated<string>
  @Field('bigint') barcode!: string
  @Field('string', { maxLength: 256 }) place!: string
  @Field('datetime') takenAt!: string
  @Field('date') dueOn!: string
  @Field('decimal', { scale: 4 }) mass!: string
  @Field('text', { nullable: true, optional: true }) comment?: string | null
  @HasMany(() => Finding) findings!: Rel<Finding[]>
}

@Record({ writes: 'head' })
@Admin({ title: 'text' })
export class Finding {
  @Field('id') id!: number
  @Field('integer') sampleId!: number
  @BelongsTo(() => Sample, { onDelete: 'cascade' }) sample!: Rel<Sample>
  @Field('string') text!: string
}

const titles = [
  'Soil',
  'Water of the third well behind the old mill, taken after two weeks without any rain, for the yearly report',
]

/** Two samples, the first with two findings, and a person whose key is 1. */
export async function startLaboratory(options: Partial<AdminOptions> = {}): Promise<Application> {
  @Module({
    controllers: [Login],
    records: [Person, Sample, Finding],
    imports: [
      admin({
        ...{ path: '/admin', roles: 'desk', records: [Sample, Finding, Person], people: Person },
        ...{ login: { path: '/login' } },
        ...options,
      }),
    ],
  })
  class Laboratory {}
  const app = await bootstrap(Laboratory, {
    ...{ port: 0, host: '127.0.0.1', logger: false, env: {} },
    ...{ database: 'sqlite::memory:', auth: { cookie: true } },
  })
  const database = app.get(Database)
  await database.records(Person).create({ name: 'Ann Adams' })
  for (const title of titles)
    await database.records(Sample).create({
      ...{ title, barcode: '9007199254740993123', place: 'Shelf behind the door of room four' },
      ...{ takenAt: '2026-11-28T17:35:00Z', dueOn: '2026-12-24', mass: '120345.7500' },
    })
  for (const text of ['Clear, without smell.', 'Some iron.'])
    await database.records(Finding).create({ sampleId: 1, text })
  return app
}
