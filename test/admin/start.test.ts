/** What the admin page refuses at the start. Source: specification, Admin page 10. */
import { describe, expect, it } from '@jest/globals'
import {
  Controller,
  Field,
  Module,
  NoAuth,
  Post,
  Record as Row,
  type DeclarationError,
  type ModuleOptions,
} from 'filigree'
import { Admin, admin, AdminAction } from 'filigree/admin'
import { testApplication } from 'filigree/testing'

@Row()
class Item {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string', { hidden: true }) secret!: string
}

class Plain {
  id = 1
}

class Credentials {
  @Field('string') name!: string
}

@Controller('/')
class Login {
  @Post('/login', { body: Credentials }) @NoAuth login(): object {
    return {}
  }
  @Post('/bare') @NoAuth bare(): object {
    return {}
  }
}

function decorated(options: object): new () => object {
  @Row()
  @Admin(options)
  class Odd {
    @Field('id') id!: number
    @Field('string') name!: string
    @Field('string', { hidden: true }) secret!: string
  }
  return Odd
}

function acting(...options: unknown[]): new () => object {
  class Odd {
    close(): void {
      return
    }
    end(): void {
      return
    }
  }
  Field('id')(Odd.prototype, 'id')
  for (const [index, option] of options.entries()) {
    const name = index === 0 ? 'close' : 'end'
    const descriptor = Object.getOwnPropertyDescriptor(Odd.prototype, name) as PropertyDescriptor
    Reflect.apply(AdminAction(option as never), null, [Odd.prototype, name, descriptor])
  }
  Row()(Odd)
  return Odd
}

async function faultsOf(options: object, more: ModuleOptions = {}): Promise<string> {
  const whole = { path: '/admin', roles: 'admin', records: [Item], login: { path: '/login' } }
  @Module({
    controllers: [Login],
    imports: [admin({ ...whole, ...options })],
    ...more,
  })
  class App {}
  const app = await testApplication(App).catch((error: unknown) => error as DeclarationError)
  if ('problems' in app) return app.problems.map(({ message }) => message).join('\n')
  await app.close()
  return ''
}

describe('the admin page', () => {
  it('starts with what is there', async () => {
    expect(await faultsOf({})).toBe('')
    expect(await faultsOf({ roles: ['a', 'b'], records: [() => Item] })).toBe('')
    expect(await faultsOf({ login: { path: '/login', signOut: '/bare' } })).toBe('')
  })

  it('names its addresses behind the prefix of the application', async () => {
    const whole = { path: '/admin', roles: 'admin', records: [Item] }
    const login = { path: '/login', signOut: '/bare' }
    @Module({
      controllers: [Login],
      imports: [
        admin({ ...whole, path: '/of/admin', login: { path: '/login' } }),
        admin({ ...whole, login }),
      ],
    })
    class App {}
    await using app = await testApplication(App, { basePath: '/desk' })
    const told = async (path: string) => (await app.anonymous.get(path)).body
    expect(await told('/desk/admin/api/login')).toMatchObject({
      path: '/desk/login',
      signOut: '/desk/bare',
    })
    expect(await told('/desk/of/admin/api/login')).toMatchObject({
      path: '/desk/login',
      signOut: '/desk/of/admin/api/sign-out',
    })
    const { text } = await app.anonymous.get('/desk/admin')
    expect(text).toContain('data-path="/desk/admin"')
  })

  it.each([
    [{ path: 'admin' }, 'path cannot be used'],
    [{ path: '/' }, 'path cannot be used'],
    [{ roles: undefined }, 'roles cannot be used'],
    [{ roles: '' }, 'roles cannot be used'],
    [{ roles: [] }, 'roles cannot be used'],
    [{ roles: ['a', 7] }, 'roles cannot be used'],
    [{ records: [] }, 'records cannot be used'],
    [{ records: undefined }, 'records cannot be used'],
    [{ records: [Plain] }, 'Plain, which is not a record'],
    [{ records: [undefined] }, 'is not a class'],
    [{ records: [Item, Item] }, 'twice'],
    [{ login: undefined }, 'login cannot be used'],
    [{ login: { path: 7 } }, 'login.path cannot be used'],
    [{ login: { path: '/signin' } }, 'no route POST /signin'],
    [{ login: { path: '/bare' } }, 'but its route does not describe a body'],
    [{ login: { path: '/login', signOut: '/out' } }, 'no route POST /out'],
    [{ records: [decorated({ title: 'nam' })] }, 'title names "nam"'],
    [{ records: [decorated({ title: 'secret' })] }, 'title names "secret"'],
    [{ records: [decorated({ list: ['name', 'org'] })] }, 'list names "org"'],
    [{ records: [decorated({ list: ['secret'] })] }, 'list names "secret"'],
    [{ records: [decorated({ list: [] })] }, 'list is not a list'],
    [{ records: [decorated({ list: ['name', 'name'] })] }, 'twice'],
    [{ records: [decorated({ group: 7 })] }, 'group is not a text'],
    [{ records: [decorated({ help: '' })] }, 'help is not a text'],
    [{ records: [decorated({ history: 'yes' })] }, 'history is neither'],
    [{ records: [acting({})] }, 'label is not a text'],
    [{ records: [acting(undefined)] }, 'has no options'],
    [{ records: [acting({ label: 'A' }, { label: 'A' })] }, 'another action is called "A"'],
    [{ records: [acting({ label: 'A', bulk: 1 })] }, 'bulk is neither'],
    [{ records: [acting({ label: 'A', body: {} })] }, 'body is not a class'],
  ])('refuses %j: %s', async (options, told) => {
    expect(await faultsOf(options)).toContain(told)
  })

  it('refuses @Admin on what is no class', () => {
    expect(() => {
      Reflect.apply(Admin({}), null, [Item.prototype, 'name'])
    }).toThrow('@Admin can only be used on a class.')
  })
})
