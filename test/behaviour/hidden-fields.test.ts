/** Source: public API, Records: `hidden` is in no output. Titles begin with the statement that they check. */
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
  @Field('string', { hidden: true }) flat!: string
}

@Record()
class User {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { hidden: true }) hash!: string
  @Field(() => Address) address!: Address
}

/** Its only hidden field is the time of the deletion, which softDelete adds. */
@Record({ softDelete: true })
class Lamp {
  @Field('id') id!: number
}

/** Not a record, and not declared by a route. */
class Visitor {
  @Field('string') name = 'Ada'
  @Field('string', { hidden: true }) hash = 'secret'
  since = 1843
}

class Known extends Visitor {
  @Field('string') declare hash: string
}

class Spoken extends Visitor {
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
    return [new Visitor(), new Known(), new Spoken()]
  }

  @Get('/reply')
  reply() {
    return reply(new Visitor(), 202)
  }

  @Get('/events')
  events() {
    return events([{ data: new Visitor() }])
  }
}

@Module({ controllers: [UserController], records: [User, Lamp] })
class UserModule {}

let app: Application

beforeAll(async () => {
  const options = { listen: false, logger: false, database: 'sqlite::memory:', env: {} }
  app = await bootstrap(UserModule, options)
  const address = Object.assign(new Address(), { city: 'London', flat: '7b' })
  await app.get(Database).records(User).create({ name: 'Ada', hash: 'secret', address })
})
afterAll(() => app.close())

const json = async (path: string): Promise<unknown> => (await app.inject(path)).json()

describe('Hidden', () => {
  const user = { id: 1, name: 'Ada', address: { city: 'London' } }
  const visitor = { name: 'Ada', since: 1843 }

  it('properties of a record are not sent if the route declares no output', async () => {
    expect(await json('/user')).toEqual(user)
  })

  it('they are not sent inside other objects and lists', async () => {
    expect(await json('/users')).toEqual({ users: [user] })
  })

  it('properties of other classes are not sent, unless a subclass shows them or has toJSON', async () => {
    expect(await json('/guests')).toEqual([
      visitor,
      { ...visitor, hash: 'secret' },
      'Ada has 6 letters',
    ])
    expect(await json('/reply')).toEqual(visitor)
  })

  it('the field that softDelete adds is not sent', async () => {
    expect(await json('/lamps')).toEqual([{ id: 1 }])
  })

  it('they are not sent in events', async () => {
    expect((await app.inject('/events')).body).toContain('data: {"name":"Ada","since":1843}\n')
  })

  it('repositories return them', async () => {
    const found = await app.get(Database).records(User).find(1)
    expect([found?.hash, found?.address.flat]).toEqual(['secret', '7b'])
    expect(Object.keys(found ?? {})).toContain('hash')
  })
})
