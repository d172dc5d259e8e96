/** Sign-ins with a real browser at two certified providers. Source: decisions, Sign-in. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import {
  bootstrap,
  Clock,
  Controller,
  Get,
  html,
  Module,
  PublicUrl,
  Secured,
  type Application,
  type Claims,
  type HttpRequest,
  type Reply,
} from 'filigree'
import { oidc, type SignIn } from 'filigree/oidc'
import { securityHeaders } from 'filigree/security-headers'
import { TestClock } from 'filigree/testing'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from '../../client/browser.js'
import { startProvider, type RealProvider } from './real-provider.js'

const requests: { url: string; referer: string }[] = []
const lines: string[] = []

class Users {
  from({ subject, provider, link }: SignIn): Claims {
    return { sub: `${provider} ${subject}`, email: link }
  }
}

@Controller('/')
class PageController {
  @Get('/')
  home(): Reply {
    return html(
      '<!doctype html><title>home</title><h1>Home</h1><form method="post" action="/signout"><button>Sign out</button></form>',
    )
  }

  @Get('/me')
  @Secured
  me(user: Claims, request: HttpRequest): Reply {
    requests.push({ url: request.url, referer: request.headers.referer ?? '' })
    return html(
      `<!doctype html><title>me</title><p id="who">${String(user.sub)} ${String(user.email)}</p><form method="post" action="/signout"><button>Sign out</button></form>`,
    )
  }

  @Get('/store')
  store(request: HttpRequest): Reply {
    requests.push({ url: request.url, referer: request.headers.referer ?? '' })
    return html('<!doctype html><title>store</title><h1>Store</h1>')
  }
}

let one: RealProvider
let two: RealProvider
let app: Application
let home: string
let browser: Browser
let context: BrowserContext | undefined
const clock = new TestClock()

function start(cookie: boolean): Promise<Application> {
  const common = {
    clientId: 'desk',
    clientSecret: 'a-secret-that-nobody-guesses',
    scope: 'openid email',
    signIn: [Users, 'from'] as const,
  }
  const more = { userInfo: true, link: 'verified-email' } as const
  @Module({
    imports: [
      securityHeaders(),
      oidc({ ...common, ...more, name: 'one', issuer: one.issuer }),
      oidc({ ...common, ...more, name: 'two', issuer: two.issuer, responseMode: 'form_post' }),
    ],
    providers: [Users],
    controllers: [PageController],
  })
  class AppModule {}
  const log = (details: object, text?: string): void =>
    void lines.push(`${JSON.stringify(details)} ${text ?? ''}`)
  return bootstrap(AppModule, {
    ...{
      port: 0,
      env: {},
      auth: { cookie: cookie && { name: 'app_token' } },
      times: { linger: 1 },
    },
    logger: { error: log, warn: log, info: log, debug: log } as never,
    override: [[Clock, clock]],
  })
}

async function use(application: Application): Promise<void> {
  home = application.get(PublicUrl).href
  await one.serve(home, 'one', 'first')
  await two.serve(home, 'two', 'first')
}

beforeAll(async () => {
  // The provider warns that it is for tests only.
  for (const level of ['info', 'warn'] as const) jest.spyOn(console, level).mockReturnValue()
  ;[one, two] = [await startProvider('127.0.0.1'), await startProvider('127.0.0.2')]
  app = await start(true)
  await use(app)
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser.close()
  await app.close()
  await Promise.all([one.close(), two.close()])
})

beforeEach(async () => {
  await context?.close()
  context = await browser.newContext()
  requests.length = 0
})

function open(): Promise<Page> {
  if (context === undefined) throw new Error('the browser was not started')
  return context.newPage()
}

/** Goes through the pages of the provider. */
async function logIn(page: Page, name: string): Promise<void> {
  await page.locator('input[name=login]').fill(name)
  await page.locator('input[name=password]').fill('x')
  await page.locator('button[type=submit]').click()
  // It asks once for consent.
  const consent = page.getByRole('button', { name: 'Continue' })
  await consent.or(page.locator('#who, h1:text-is("Store")')).first().waitFor()
  if (await consent.isVisible()) await consent.click()
  await page.waitForURL(`${home}/**`)
}

const whoOf = (page: Page): Promise<string | null> => page.locator('#who').textContent()

/** Addresses and logs contain neither codes nor tokens. */
function expectNoCode(): void {
  expect(requests.map(({ url, referer }) => `${url} ${referer}`).join(' ')).not.toMatch(
    /code=|state=|eyJ/,
  )
  expect(lines.join('\n')).not.toMatch(/code=|eyJ/)
}

describe('a browser', () => {
  it('signs in at two providers concurrently, in two tabs, of which one posts its response', async () => {
    const [first, second] = [await open(), await open()]
    await first.goto(`${home}/signin/one?to=/me?a=1`)
    await second.goto(`${home}/signin/two?to=/me?a=2`)
    await logIn(second, 'grace')
    expect([second.url(), await whoOf(second)]).toEqual([
      `${home}/me?a=2`,
      'two grace grace@example.com',
    ])
    await logIn(first, 'ada')
    expect([first.url(), await whoOf(first)]).toEqual([`${home}/me?a=1`, 'one ada ada@example.com'])
    const names = ((await context?.cookies(home)) ?? [])
      .map(({ name }) => name)
      .filter((name) => name.startsWith('app_'))
    expect(names).toEqual(['app_token'])
    expectNoCode()
  })

  it('signs in in ten tabs side by side', async () => {
    const pages = await Promise.all(Array.from({ length: 10 }, () => open()))
    for (const [tab, page] of pages.entries())
      await page.goto(`${home}/signin/one?to=/me?tab=${tab}`)
    const [first] = pages
    if (first !== undefined) await logIn(first, 'ada')
    for (const [tab, page] of pages.entries()) {
      if (tab > 0) await logIn(page, 'ada')
      expect([page.url(), await whoOf(page)]).toEqual([
        `${home}/me?tab=${tab}`,
        'one ada ada@example.com',
      ])
    }
    expectNoCode()
  })

  it('returns where the user refuses', async () => {
    const page = await open()
    await page.goto(`${home}/signin/one?to=/store`)
    await page.getByText('Cancel').click()
    await page.waitForURL(`${home}/store?error=access_denied`)
  })

  it('signs out here and at the provider, and not from the page of another site', async () => {
    const page = await open()
    await page.goto(`${home}/signin/one?to=/me`)
    await logIn(page, 'ada')
    const evil = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(`<form method="post" action="${home}/signout"><button>Win</button></form>`)
    }).listen(0, '127.0.0.1')
    await once(evil, 'listening')
    const other = await open()
    await other.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}`)
    await other.getByRole('button').click()
    // SameSite=Lax withholds the cookie, so the request is anonymous.
    await other.getByText(/not signed in|may not open/).waitFor()
    evil.close()
    await page.reload()
    expect(await whoOf(page)).toContain('ada')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL((url) => url.origin === one.issuer)
    expect(page.url()).not.toMatch(/token|eyJ/)
    await page.getByRole('button', { name: /yes/i }).click()
    await page.waitForURL(`${home}/**`)
    expect(page.url()).toMatch(new RegExp(`^${home}/(\\?.*)?$`))
    expect((await page.goto(`${home}/me`))?.status()).toBe(401)
  })

  it('continues after the provider has changed its key', async () => {
    await one.serve(home, 'one', 'second')
    const page = await open()
    await page.goto(`${home}/signin/one?to=/me`)
    await clock.advance('61s')
    await logIn(page, 'ada')
    expect(await whoOf(page)).toBe('one ada ada@example.com')
  })

  it('stores the token in the client, and keeps no address with it', async () => {
    await app.close()
    app = await start(false)
    await use(app)
    const page = await open()
    const failures: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error' && message.location().url.startsWith(home))
        failures.push(message.text())
    })
    page.on('pageerror', (error) => failures.push(error.message))
    await page.goto(`${home}/`)
    await page.goto(`${home}/signin/one?to=/store?a=%3Cb%3E`)
    await logIn(page, 'ada')
    await page.waitForURL(`${home}/store?a=%3Cb%3E`)
    const token = await page.evaluate<string>("localStorage.getItem('app_token')")
    const response = await fetch(`${home}/me`, { headers: { authorization: `Bearer ${token}` } })
    expect(await response.text()).toContain('one ada')
    expect(requests.find(({ url }) => url.startsWith('/store'))).toEqual({
      url: '/store?a=%3Cb%3E',
      referer: '',
    })
    await page.goBack()
    expect(page.url()).not.toContain('/callback')
    expect(failures).toEqual([])
    expectNoCode()
  })
})

it('a provider that hangs is 503 with Retry-After, and delays no other requests', async () => {
  const hanging = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(hanging, 'listening')
  const issuer = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`
  @Module({
    imports: [oidc({ name: 'slow', issuer, clientId: 'desk', signIn: [Users, 'from'] })],
    providers: [Users],
    controllers: [PageController],
  })
  class SlowModule {}
  const slow = await bootstrap(SlowModule, {
    port: 0,
    env: {},
    logger: false,
    times: { linger: 1 },
  })
  const ended: string[] = []
  const waiting = fetch(new URL('/signin/slow', slow.url), { redirect: 'manual' })
  void waiting.then(() => ended.push('the sign-in'))
  expect((await fetch(new URL('/store', slow.url))).status).toBe(200)
  expect(ended).toEqual([])
  const response = await waiting
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '10'])
  hanging.closeAllConnections()
  hanging.close()
  await slow.close()
})
