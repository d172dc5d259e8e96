/** Source: public API, Records: `hidden` is in no output. Titles begin with the statement. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Database,
  events,
  Field,
  Get,
  Module,
  Record,
  reply,
  type Application,
} from '../../src/index.js'

class Address {
  @Field('string') city!: string
  @Field('string', { hidden: true }) door!: string
}

@Record()
class User {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { hidden: true }) hash!: string
  @Field(() => Address) address!: Address
}

/** The moment of its deletion is its only hidden field. */
@Record({ softDelete: true })
class Lamp {
  @Field('id') id!: number
}

/** No record, and named by no route. */
class Guest {
  @Field('string') name = 'Ada'
  @Field('string', { hidden: true }) hash = 'secret'
  since = 1843
}

class Known extends Guest {
  @Field('string') declare hash: string
}

class Spoken extends Guest {
  toJSON() {
    return `${this.name} has ${this.hash.length} letters`
  }
}

@Controller
class UserController {
  static readonly inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/user')
  user() {
    return this.database.records(User).find(1)
  }

  @Get('/users')
  async users() {
    return { users: await this.database.records(User).list() }
  }

  @Get('/lamps')
  async lamps() {
    const lamps = this.database.records(Lamp)
    const { id } = await lamps.create({})
    await lamps.delete(id)
    return lamps.list({ withDeleted: true })
  }

  @Get('/guests')
  guests() {
    return [new Guest(), new Known(), new Spoken()]
  }

  @Get('/reply')
  reply() {
    return reply(new Guest(), 202)
  }

  @Get('/events')
  events() {
    return events([{ data: new Guest() }])
  }
}

@Module({ controllers: [UserController], records: [User, Lamp] })
class UserModule {}

let app: Application

beforeAll(async () => {
  const options = { listen: false, logger: false, database: 'sqlite::memory:', env: {} }
  app = await bootstrap(UserModule, options)
  const address = Object.assign(new Address(), { city: 'London', door: '7b' })
  await app.get(Database).records(User).create({ name: 'Ada', hash: 'secret', address })
})
afterAll(() => app.close())

const json = async (path: string): Promise<unknown> => (await app.inject(path)).json()

describe('Hidden', () => {
  const user = { id: 1, name: 'Ada', address: { city: 'London' } }
  const guest = { name: 'Ada', since: 1843 }

  it('hidden: properties of a record stay, whatever the route says about its answer', async () => {
    expect(await json('/user')).toEqual(user)
  })

  it('hidden: inside other objects and lists too', async () => {
    expect(await json('/users')).toEqual({ users: [user] })
  })

  it('hidden: of classes that are no records; a subclass may show them, or say its JSON itself', async () => {
    expect(await json('/guests')).toEqual([
      guest,
      { ...guest, hash: 'secret' },
      'Ada has 6 letters',
    ])
    expect(await json('/reply')).toEqual(guest)
  })

  it('hidden: what softDelete adds', async () => {
    expect(await json('/lamps')).toEqual([{ id: 1 }])
  })

  it('hidden: in events too', async () => {
    expect((await app.inject('/events')).body).toContain('data: {"name":"Ada","since":1843}\n')
  })

  it('hidden: the program and the database have them', async () => {
    const found = await app.get(Database).records(User).find(1)
    expect([found?.hash, found?.address.door]).toEqual(['secret', '7b'])
    expect(Object.keys(found ?? {})).toContain('hash')
  })
})
