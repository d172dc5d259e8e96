/** Source: decisions, Sign-in. */
import { describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  DeclarationError,
  Get,
  Module,
  PublicUrl,
  type Application,
  type BootstrapOptions,
} from '../../src/index.js'

@Controller('/links')
class LinkController {
  static readonly inject = [PublicUrl]
  constructor(private readonly publicUrl: PublicUrl) {}

  @Get('/')
  link(): unknown {
    const { href, origin, secure } = this.publicUrl
    return { href, origin, secure, link: this.publicUrl.to('/reset?token=1') }
  }
}

@Module({ controllers: [LinkController] })
class LinkModule {}

@Module()
class PlainModule {}

function start(options: BootstrapOptions = {}, module = LinkModule): Promise<Application> {
  return bootstrap(module, { listen: false, logger: false, env: {}, ...options })
}

async function linkOf(options: BootstrapOptions, headers = {}): Promise<unknown> {
  const app = await start(options)
  const response = await app.inject({ url: '/links', headers })
  await app.close()
  return response.json()
}

async function problemsOf(options: BootstrapOptions, module = LinkModule): Promise<unknown> {
  const failure: unknown = await start(options, module).then(
    (app) => app.close(),
    (error: unknown) => error,
  )
  return failure instanceof DeclarationError ? failure.problems : failure
}

const production = { NODE_ENV: 'production' }
const keyless = { keys: false } as const

describe('PublicUrl', () => {
  it('is loopback with our port by default', async () => {
    const app = await start({ listen: true, port: 0, host: '127.0.0.1' })
    const port = new URL(app.url).port
    expect(app.get(PublicUrl).href).toBe(`http://localhost:${port}`)
    expect(app.get(PublicUrl).secure).toBe(false)
    await app.close()
  })

  it('is the option, else PUBLIC_URL, whatever the client sends', async () => {
    const options = {
      publicUrl: 'https://desk.example/',
      env: { PUBLIC_URL: 'https://other.example' },
    }
    const lies = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example;proto=http',
      'x-forwarded-proto': 'http',
    }
    expect(await linkOf({ ...options, trustProxy: 1 }, lies)).toEqual({
      href: 'https://desk.example',
      origin: 'https://desk.example',
      secure: true,
      link: 'https://desk.example/reset?token=1',
    })
    expect(await linkOf({ env: { PUBLIC_URL: 'https://example.com/desk/' } }, lies)).toEqual({
      href: 'https://example.com/desk',
      origin: 'https://example.com',
      secure: true,
      link: 'https://example.com/desk/reset?token=1',
    })
  })

  it('adds the base path to paths that lack it, as redirects do', async () => {
    const app = await start({ publicUrl: 'https://desk.example', basePath: '/api' })
    const publicUrl = app.get(PublicUrl)
    expect(publicUrl.to('/reset')).toBe('https://desk.example/api/reset')
    expect(publicUrl.to('/api/reset?a=1')).toBe('https://desk.example/api/reset?a=1')
    await app.close()
  })

  it('is required in production only by features that use it', async () => {
    expect(await problemsOf({ env: production, auth: keyless })).toMatchObject([
      { code: 'PUBLIC_URL_MISSING', message: expect.stringContaining('LinkController needs it') },
    ])
    const app = await start({ env: production, auth: keyless }, PlainModule)
    expect(() => app.get(PublicUrl).href).toThrow(/no public address/)
    await app.close()
  })

  it.each([
    ['desk.example', 'is not an http or https address'],
    ['/desk', 'is not an http or https address'],
    ['ftp://desk.example', 'is not an http or https address'],
    ['https:desk.example', 'is not an http or https address'],
    ['javascript:alert(1)', 'is not an http or https address'],
    [7, 'is not an http or https address'],
    ['https://a:b@desk.example', 'has a user or a password'],
    ['https://desk.example/?', 'has a query or a fragment'],
    ['https://desk.example/#top', 'has a query or a fragment'],
  ])('refuses %s', async (publicUrl, why) => {
    expect(await problemsOf({ publicUrl: publicUrl as string })).toMatchObject([
      { code: 'INVALID_OPTION', message: `bootstrap: publicUrl ${why}.` },
    ])
    if (typeof publicUrl !== 'string') return
    expect(await problemsOf({ env: { PUBLIC_URL: publicUrl } })).toMatchObject([
      { code: 'INVALID_ENVIRONMENT', message: `PUBLIC_URL ${why}.` },
    ])
  })

  it('is https in production, except on loopback', async () => {
    const env = production
    expect(
      await problemsOf({ env, auth: keyless, publicUrl: 'http://desk.example' }),
    ).toMatchObject([{ message: expect.stringContaining('is http') }])
    const app = await start({ env, auth: keyless, publicUrl: 'http://127.0.0.1:8080' })
    expect(app.get(PublicUrl).href).toBe('http://127.0.0.1:8080')
    await app.close()
  })

  it.each(['//evil.example', '/\\evil.example', 'https://evil.example', 'reset', ''])(
    'creates no address from %s',
    async (path) => {
      const app = await start()
      expect(() => app.get(PublicUrl).to(path)).toThrow(TypeError)
      await app.close()
    },
  )
})
