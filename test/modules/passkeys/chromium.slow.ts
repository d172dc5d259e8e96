/** Passkeys in a real Chromium with its virtual authenticator (CDP, WebAuthn domain). Functions passed to `evaluate` run in the page. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Browser, CDPSession, Page } from 'playwright-core'
import {
  Auth,
  bootstrap,
  Controller,
  Database,
  Get,
  html,
  Module,
  Secured,
  type Application,
  type Claims,
} from 'filigree'
import type { PlainClient } from '../../../client/index.js'
import { Passkey, passkeys, type PasskeySignIn } from 'filigree/passkeys'
import { launchBrowser } from '../../client/browser.js'

declare const api: PlainClient
declare const localStorage: { setItem(key: string, value: string): void; clear(): void }

const users = new Map([
  ['ada', '1'],
  ['bob', '2'],
])
class Users {
  byName(name: string): string | null {
    return users.get(name) ?? null
  }
  fromPasskey({ sub }: PasskeySignIn): Claims {
    return { sub }
  }
}

@Controller('/')
class Site {
  @Get('/') page() {
    return html(
      '<!doctype html><title>Desk</title><script src="/filigree.js"></script><script src="/filigree-passkeys.js"></script><script>api.configure({ auth: true })</script>',
    )
  }
  @Get('/me') @Secured me(user: Claims): Claims {
    return user
  }
}

@Module({
  controllers: [Site],
  providers: [Users],
  imports: [
    passkeys({ name: 'Help desk', signIn: [Users, 'fromPasskey'], find: [Users, 'byName'] }),
  ],
})
class DeskModule {}

let app: Application
let browser: Browser
let page: Page
let cdp: CDPSession
let device: string
let home: string
let responses: string[]

const addDevice = async (transport: 'internal' | 'usb'): Promise<string> => {
  const options = {
    protocol: 'ctap2',
    transport,
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  } as const
  return (await cdp.send('WebAuthn.addVirtualAuthenticator', { options })).authenticatorId
}

beforeAll(async () => {
  app = await bootstrap(DeskModule, {
    ...{ database: 'sqlite::memory:', client: true, logger: false, port: 0 },
    env: {},
  })
  home = `http://localhost:${new URL(app.url).port}`
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser.close()
  await app.close()
})
beforeEach(async () => {
  await app.get(Database).records(Passkey).deleteWhere({})
  page = await (await browser.newContext()).newPage()
  responses = []
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (pathname.startsWith('/passkeys')) responses.push(`${pathname} ${response.status()}`)
  })
  cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  device = await addDevice('internal')
  await page.goto(home)
})
afterEach(() => page.context().close())

const signInAs = async (sub: string): Promise<void> => {
  const token = await app.get(Auth).getToken({ sub })
  await page.evaluate((text) => {
    localStorage.setItem('app_token', text)
  }, token)
}
const signOut = (): Promise<void> =>
  page.evaluate(() => {
    localStorage.clear()
  })
const register = (name: string) =>
  page.evaluate((text) => api.passkeys.register({ name: text }), name)
/** @returns the signed-in user, or the error */
const signIn = async (name?: string): Promise<unknown> => {
  await signOut()
  return page.evaluate(async (userName) => {
    try {
      await api.passkeys.signIn(userName === undefined ? {} : { name: userName })
      return (await api.get<{ sub: string }>('/me')).sub
    } catch (error) {
      const { name: kind, status } = error as { name: string; status?: number }
      return status ?? kind
    }
  }, name)
}
const credentials = async (of = device) =>
  (await cdp.send('WebAuthn.getCredentials', { authenticatorId: of })).credentials

describe('passkeys in Chromium', () => {
  it('are registered, and sign in with and without a name', async () => {
    await signInAs('1')
    expect(await register('laptop')).toMatchObject({ id: 1, name: 'laptop' })
    const [credential] = await credentials()
    expect(credential).toMatchObject({ isResidentCredential: true, rpId: 'localhost' })
    expect(await signIn()).toBe('1')
    expect(await signIn('ada')).toBe('1')
    expect(await page.evaluate(() => api.get('/me'))).toMatchObject({
      amr: ['hwk', 'user', 'mfa'],
    })
  })

  it('are registered once per device, and for several devices', async () => {
    await signInAs('1')
    await register('laptop')
    const error = await page.evaluate(() =>
      api.passkeys.register().catch((error: unknown) => (error as Error).name),
    )
    expect(error).toBe('InvalidStateError')
    await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: device })
    device = await addDevice('usb')
    await register('key')
    const names = await page.evaluate(async () =>
      (await api.passkeys.list()).map(({ name }) => name),
    )
    expect(names).toEqual(['laptop', 'key'])
    expect(await signIn('ada')).toBe('1')
  })

  it('that were removed are refused', async () => {
    await signInAs('1')
    const { id } = await register('laptop')
    await page.evaluate((passkeyId) => api.passkeys.remove(passkeyId), id)
    expect(await signIn()).toBe(401)
    expect(responses.at(-1)).toBe('/passkeys/signin/verify 401')
  })

  it('of another user are refused for the named user', async () => {
    await signInAs('2')
    await register('his')
    expect(await signIn('bob')).toBe('2')
    expect(await signIn('ada')).toBe('NotAllowedError')
    expect(await signIn('nobody')).toBe('NotAllowedError')
  })

  it('that were copied are refused once their counter goes back', async () => {
    await signInAs('1')
    await register('laptop')
    expect(await signIn()).toBe('1')
    expect(await signIn()).toBe('1')
    const [copy] = await credentials()
    await cdp.send('WebAuthn.clearCredentials', { authenticatorId: device })
    const credential = { ...copy, signCount: 1 } as NonNullable<typeof copy>
    await cdp.send('WebAuthn.addCredential', { authenticatorId: device, credential })
    expect(await signIn()).toBe(401)
  })

  it('require user verification by the device', async () => {
    await signInAs('1')
    await register('laptop')
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId: device, isUserVerified: false })
    expect(await signIn()).toBe('NotAllowedError')
  })

  it('are refused to pages of another origin, and a response that is sent twice counts once', async () => {
    await signInAs('1')
    await register('laptop')
    const twice = await page.evaluate(async () => {
      const json = async (path: string, body: unknown) => {
        const response = await fetch(path, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        })
        return { status: response.status, body: (await response.json()) as never }
      }
      const options = (await json('/passkeys/signin/options', {})).body
      const page = globalThis as never as {
        PublicKeyCredential: { parseRequestOptionsFromJSON(json: unknown): never }
        navigator: { credentials: { get(options: object): Promise<unknown> } }
      }
      const publicKey = page.PublicKeyCredential.parseRequestOptionsFromJSON(options)
      const credential = await page.navigator.credentials.get({ publicKey })
      const answers = [1, 2, 3].map(() => json('/passkeys/signin/verify', credential))
      return (await Promise.all(answers)).map(({ status }) => status)
    })
    expect(twice.sort()).toEqual([200, 401, 401])
    // The same server by another name: its page requests options across origins, and gets none.
    await page.goto(home.replace('localhost', '127.0.0.1'))
    expect(await signIn()).toBe(403)
  })
})
