/** Misspelt options, which would otherwise be ignored: each is refused with the nearest known name. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Auth, Controller, Field, Get, Module, Record, Use, bootstrap } from '../../src/index.js'
import type { Application } from '../../src/index.js'

@Record()
class Item {
  @Field('id') id!: number
}

describe('misspelt options', () => {
  let application: Application

  beforeAll(async () => {
    @Module({})
    class Empty {}
    application = await bootstrap(Empty, { listen: false, logger: false })
  })

  afterAll(() => application.close())

  it('of a controller stop the start', async () => {
    @Controller('/items', { crud: Item, onyl: ['list'] } as object)
    class Items {}
    @Module({ controllers: [Items], records: [Item] })
    class Shop {}
    const started = bootstrap(Shop, { listen: false, logger: false, database: 'sqlite::memory:' })
    await expect(started).rejects.toThrow(
      '@Controller of Items: unknown option "onyl".  Did you mean "only"? Options: crud, only, version.',
    )
  })

  it('of inject, getToken and verify are refused at the call', async () => {
    await expect(application.inject({ url: '/', payload: 'x' } as never)).rejects.toThrow(
      'inject: unknown option "payload".',
    )
    const auth = application.get(Auth)
    await expect(auth.getToken({ sub: 'a' }, { expires: '1h' } as object)).rejects.toThrow(
      'Auth.getToken: unknown option "expires". Did you mean "expiresIn"?',
    )
    await expect(auth.verify('x', { audiense: 'a' } as object)).rejects.toThrow(
      'Auth.verify: unknown option "audiense". Did you mean "audience"?',
    )
  })

  it('@Use of nothing and without a call are refused', () => {
    expect(() => Use()).toThrow('@Use() names no interceptor.')
    expect(() => {
      class Bare {
        @(Use as unknown as MethodDecorator) @Get('/') read(): void {}
      }
      return Bare
    }).toThrow('@Use has no call')
  })
})
