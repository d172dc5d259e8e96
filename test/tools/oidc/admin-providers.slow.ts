/** The sign-in of the admin page with a provider, in a real Chromium and at a certified provider. */
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  HttpError,
  Module,
  NoAuth,
  Post,
  PublicUrl,
  Record,
  type Application,
  type Claims,
} from 'filigree'
import { admin } from 'filigree/admin'
import { oidc, type SignIn } from 'filigree/oidc'
import { securityHeaders } from 'filigree/security-headers'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../../client/browser.js'
import { startProvider, type RealProvider } from './real-provider.js'
import { expectAccessible, forEachDisplay } from '../../browser/accessibility.js'

@Record
class Item {
  @Field('id') id!: number
  @Field('string') name!: string
}
class Credentials {
  @Field('string') name!: string
  @Field('string') password!: string
}
@Controller('/login')
@NoAuth
class Login {
  @Post('/', { body: Credentials }) login(): object {
    throw new HttpError(401, 'Name or password is wrong.')
  }
}
class Users {
  from({ subject }: SignIn): Claims {
    return { sub: subject, roles: subject === 'ann' ? ['admin'] : [] }
  }
}

let provider: RealProvider
let browser: Browser
let app: Application
let home: string

beforeAll(async () => {
  // The provider warns that it is for tests only.
  for (const level of ['info', 'warn'] as const) jest.spyOn(console, level).mockReturnValue()
  provider = await startProvider('127.0.0.2')
  browser = await launchBrowser()
})
afterEach(() => app.close())
afterAll(async () => {
  await browser.close()
  await provider.close()
})

async function start(cookie: boolean): Promise<void> {
  @Module({
    imports: [
      securityHeaders(),
      oidc({
        ...{ name: 'acme', issuer: provider.issuer, clientId: 'desk' },
        ...{ clientSecret: 'a-secret-that-nobody-guesses', signIn: [Users, 'from'] },
      }),
      admin({ path: '/admin', roles: 'admin', records: [Item], login: { path: '/login' } }),
    ],
    providers: [Users],
    controllers: [Login],
    records: [Item],
  })
  class AppModule {}
  app = await bootstrap(AppModule, {
    ...{ port: 0, env: {}, logger: false, times: { linger: 1 } },
    ...{ database: 'sqlite::memory:', auth: { cookie } },
  })
  for (const name of ['lamp', 'ladder']) await app.get(Database).records(Item).create({ name })
  home = app.get(PublicUrl).href
  await provider.serve(home, 'acme', 'first')
}

async function visit(use: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext()
  try {
    await use(await context.newPage())
  } finally {
    await context.close()
  }
}

const toProvider = (page: Page): Promise<void> =>
  page.getByRole('link', { name: 'Continue with Acme' }).click()

/** Goes through the pages of the provider. */
async function logIn(page: Page, name: string): Promise<void> {
  await page.locator('input[name=login]').fill(name)
  await page.locator('input[name=password]').fill('x')
  await page.locator('button[type=submit]').click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

describe.each([
  ['in a cookie', true],
  ['in the browser', false],
])('the sign-in with a provider, with the token %s', (_where, cookie) => {
  it('leads back to the view that was asked for', async () => {
    await start(cookie)
    await visit(async (page) => {
      const list = `${home}/admin/items?orderBy=-name`
      await page.goto(list)
      await page.getByRole('link', { name: 'Continue with Acme' }).waitFor()
      await forEachDisplay(page, (display) => expectAccessible(page, display))
      await toProvider(page)
      await logIn(page, 'ann')
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      await page.locator('tbody tr').first().waitFor()
      expect(page.url()).toBe(list)
      expect(await page.locator('tbody tr').first().textContent()).toContain('lamp')
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText('You have signed out.').waitFor()
    })
  })

  it('shows a user without the role that another one is needed', async () => {
    await start(cookie)
    await visit(async (page) => {
      await page.goto(`${home}/admin`)
      await toProvider(page)
      await logIn(page, 'bob')
      await page.getByText('you may not use this page').waitFor()
      expect(await page.locator('table').count()).toBe(0)
    })
  })

  it('shows that the user declined, and offers the sign-in again', async () => {
    await start(cookie)
    await visit(async (page) => {
      await page.goto(`${home}/admin/items?search=lamp`)
      await toProvider(page)
      await page.getByText('Cancel').click()
      await page.getByText('The sign-in with the provider was cancelled.').waitFor()
      expect(page.url()).toBe(`${home}/admin/items?search=lamp`)
      await toProvider(page)
      await logIn(page, 'ann')
      await page.locator('tbody tr').first().waitFor()
      expect(await page.locator('tbody tr').count()).toBe(1)
    })
  })
})
