/** What the admin page refuses at the start. Source: specification, Admin page 10. */
import { describe, expect, it } from '@jest/globals'
import {
  Controller,
  Field,
  Get,
  Module,
  NoAuth,
  Post,
  Record as Row,
  type DeclarationError,
  type ModuleOptions,
} from 'filigree'
import { Admin, admin, AdminAction } from 'filigree/admin'
import { testApplication } from 'filigree/testing'
import { contrast, parseColour, themeCss } from '../../src/modules/admin/theme.js'

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

const map = { path: 'map', title: 'Map', script: '/map.js' }

async function faultsOf(options: object, more: ModuleOptions = {}): Promise<string> {
  const adminOptions = {
    path: '/admin',
    roles: 'admin',
    records: [Item],
    login: { path: '/login' },
  }
  @Module({
    controllers: [Login],
    imports: [admin({ ...adminOptions, ...options })],
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

  it('takes components of the application for fields, and pages beside the records', async () => {
    const named = decorated({ fields: { name: { cell: '/a.js', input: '/b.js' } } })
    expect(await faultsOf({ records: [named], pages: [map] })).toBe('')
    expect(await faultsOf({ records: [decorated({ fields: { nam: { cell: '/a.js' } } })] })).toBe(
      '@Admin of Odd: fields names "nam".',
    )
    const odd = { name: { cell: 'a.js', inputs: '/b.js' }, id: {} }
    expect(await faultsOf({ records: [decorated({ fields: odd })] })).toBe(
      [
        '@Admin of Odd: fields.name.cell is not a path.',
        '@Admin of Odd: fields.name has "inputs".',
        '@Admin of Odd: fields.id is empty.',
      ].join('\n'),
    )
    const pages = [
      map,
      { ...map, title: '' },
      { ...map, path: 'items' },
      { ...map, path: 'a/b', script: 'https://other.example/map.js' },
    ]
    expect(await faultsOf({ pages })).toBe(
      [
        'admin: pages.1: path "map" is already used.',
        'admin: pages.1: title is missing.',
        'admin: pages.2: path "items" is already used.',
        'admin: pages.3: path is not part of an address.',
        'admin: pages.3: script is not a path.',
      ].join('\n'),
    )
    expect(await faultsOf({ pages: ['map'] })).toContain('pages')
  })

  it('has the title, the logo and the colour of the application', async () => {
    const adminOptions = {
      path: '/admin',
      roles: 'admin',
      records: [Item],
      login: { path: '/login' },
    }
    const branding = { title: 'Desk "<One>"', logo: '/logo.svg', colour: '#fd0' }
    @Module({ controllers: [Login], imports: [admin({ ...adminOptions, ...branding })] })
    class App {}
    await using app = await testApplication(App, { basePath: '/desk' })
    const { text } = await app.anonymous.get('/desk/admin')
    expect(text).toContain('<title>Desk &#34;&#60;One&#62;&#34;</title>')
    expect(text).toContain('data-title="Desk &#34;&#60;One&#62;&#34;"')
    expect(text).toContain('data-logo="/desk/logo.svg"')
    expect(text).toContain('<link rel="icon" href="/desk/logo.svg">')
    expect(text).toContain('<link rel="stylesheet" href="/desk/admin/assets/theme.css">')
    const theme = await app.anonymous.get('/desk/admin/assets/theme.css')
    expect(theme.headers['content-type']).toBe('text/css; charset=utf-8')
    expect(theme.text).toMatch(/--accent: light-dark\(#[\da-f]{6}, #[\da-f]{6}\);/)
  })

  it.each(['#000', '#fff', '#ffdd00', '#0b6470', '#ff00ff', '#00ff00', '#888888', '#1a1d20'])(
    'makes %s readable in light and in dark',
    (colour) => {
      const css = themeCss(parseColour(colour)!)
      const pair = (name: string) =>
        new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(css)!.slice(1)
      const [accents, tints, grounds] = [pair('accent'), pair('tint'), pair('on-accent')]
      for (const [index, card] of ['#ffffff', '#1a1d20'].entries()) {
        const accent = parseColour(accents[index])!
        for (const other of [card, tints[index], grounds[index]])
          expect(contrast(accent, parseColour(other)!)).toBeGreaterThanOrEqual(4.5)
      }
    },
  )

  it('says whether a visitor may be signed in, and has an icon', async () => {
    const adminOptions = {
      path: '/admin',
      roles: 'admin',
      records: [Item],
      login: { path: '/login' },
    }
    @Module({ controllers: [Login], imports: [admin(adminOptions)] })
    class App {}
    await using app = await testApplication(App, {})
    const first = await app.anonymous.get('/admin')
    expect(first.text).not.toContain('data-may-be-signed-in')
    for (const [cookie, isSignedIn] of [
      ['app_token=x', true],
      ['a=b; __Host-app_token=x', true],
      ['own_token=x', true],
      ['app_session=x; app_passkeys=y; __Host-app_signin_a=z', false],
    ] as const) {
      const { text } = await app.anonymous.get('/admin', { headers: { cookie } })
      expect([cookie, text.includes('data-may-be-signed-in')]).toEqual([cookie, isSignedIn])
    }
    const icon = await app.anonymous.get('/admin/assets/icon.svg')
    expect(icon.headers['content-type']).toBe('image/svg+xml')
    expect((await app.anonymous.get('/admin/assets/theme.css')).status).toBe(404)
  })

  it('offers the sign-ins by passkey and by provider that the application has', async () => {
    const adminOptions = { path: '/admin', roles: 'admin', records: [Item] }
    @Controller('/signin/google')
    class Provider {
      @Get('/') @NoAuth begin(): object {
        return {}
      }
      @Get('/callback') @NoAuth callback(): object {
        return {}
      }
    }
    @Controller('/passkeys')
    class Passkeys {
      @Post('/signin/options') @NoAuth options(): object {
        return {}
      }
    }
    const controllers = [Login, Provider, Passkeys]
    @Module({ controllers, imports: [admin({ ...adminOptions, login: { path: '/login' } })] })
    class App {}
    await using app = await testApplication(App, { basePath: '/desk' })
    expect((await app.anonymous.get('/desk/admin/api/login')).body).toMatchObject({
      prefix: '/desk',
      providers: ['google'],
      passkeys: true,
    })
    const login = { path: '/login', buttons: false }
    @Module({ controllers, imports: [admin({ ...adminOptions, login })] })
    class Plain {}
    await using plain = await testApplication(Plain)
    const { body } = await plain.anonymous.get('/admin/api/login')
    expect(Object.keys(body as object)).toEqual(['path', 'method', 'fields', 'signOut'])
  })

  it('names its addresses behind the prefix of the application', async () => {
    const adminOptions = { path: '/admin', roles: 'admin', records: [Item] }
    const login = { path: '/login', signOut: '/bare' }
    @Module({
      controllers: [Login],
      imports: [
        admin({ ...adminOptions, path: '/of/admin', login: { path: '/login' } }),
        admin({ ...adminOptions, login }),
      ],
    })
    class App {}
    await using app = await testApplication(App, { basePath: '/desk' })
    const loginBody = async (path: string) => (await app.anonymous.get(path)).body
    expect(await loginBody('/desk/admin/api/login')).toMatchObject({
      path: '/desk/login',
      signOut: '/desk/bare',
    })
    expect(await loginBody('/desk/of/admin/api/login')).toMatchObject({
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
    [{ login: { path: 7 } }, 'admin login: path cannot be 7'],
    [{ login: { path: '/signin' } }, 'no route POST /signin'],
    [{ login: { path: '/bare' } }, 'but its route does not describe a body'],
    [{ login: { path: '/login', signOut: '/out' } }, 'no route POST /out'],
    [{ login: { path: '/login', buttons: 'no' } }, 'admin login: buttons cannot be used'],
    [{ title: '' }, 'title cannot be used'],
    [{ logo: 'https://elsewhere.example/logo.svg' }, 'logo cannot be used'],
    [{ logo: '/logo.svg" onload="x' }, 'logo cannot be used'],
    [{ colour: 'red' }, 'colour cannot be used'],
    [{ colour: '#12345;}' }, 'colour cannot be used'],
    [{ records: [decorated({ title: 'nam' })] }, 'title names "nam"'],
    [{ records: [decorated({ title: 'secret' })] }, 'title names "secret"'],
    [{ records: [decorated({ list: ['name', 'org'] })] }, 'list names "org"'],
    [{ records: [decorated({ list: ['secret'] })] }, 'list names "secret"'],
    [{ records: [decorated({ list: [] })] }, 'list cannot be used'],
    [{ records: [decorated({ list: ['name', 'name'] })] }, 'twice'],
    [{ records: [decorated({ group: 7 })] }, 'group cannot be 7'],
    [{ records: [decorated({ help: '' })] }, 'help cannot be used'],
    [{ records: [decorated({ history: 'yes' })] }, 'history cannot be used'],
    [{ records: [acting({})] }, 'label cannot be used'],
    [{ records: [acting(undefined)] }, 'label cannot be used'],
    [{ records: [acting({ label: 'A' }, { label: 'A' })] }, 'another action is called "A"'],
    [{ records: [acting({ label: 'A', bulk: 1 })] }, 'bulk cannot be 1'],
    [{ records: [acting({ label: 'A', danger: 'yes' })] }, 'danger cannot be used'],
    [{ records: [acting({ label: 'A', body: {} })] }, 'body cannot be used'],
  ])('refuses %j: %s', async (options, message) => {
    expect(await faultsOf(options)).toContain(message)
  })

  it('refuses @Admin on what is no class', () => {
    expect(() => {
      Reflect.apply(Admin({}), null, [Item.prototype, 'name'])
    }).toThrow('@Admin can only be used on a class.')
  })
})
