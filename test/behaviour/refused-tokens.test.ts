/** Warnings of an application that refuses every token. Source: decisions, Tokens. */
import { describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Clock,
  Controller,
  Get,
  Module,
  Secured,
  type BootstrapOptions,
} from 'filigree'
import { TestClock } from 'filigree/testing'
import { makePair, type Pair } from '../auth/key-pair.js'

@Controller('/me')
class MeController {
  @Get('/') @Secured me(): string {
    return 'me'
  }
}

@Module({ controllers: [MeController] })
class AppModule {}

type AuthSettings = NonNullable<BootstrapOptions['auth']>

const [own, other] = [makePair(), makePair()]
const issuing = { issuer: 'https://id.example', audience: 'shop' }

async function startIssuer(pair: Pair, clock = new TestClock()) {
  return bootstrap(AppModule, {
    ...{ listen: false, logger: false, env: { APP_PRIVATE_KEY: pair.privatePem }, auth: issuing },
    override: [[Clock, clock]],
  })
}

/** An application that verifies the tokens of the issuer, and the warnings that it logs. */
async function startVerifier(auth: AuthSettings, clock = new TestClock()) {
  const warnings: [details: object, text: string][] = []
  const none = (): void => undefined
  const app = await bootstrap(AppModule, {
    ...{ listen: false, env: { APP_PUBLIC_KEY: own.publicPem }, auth },
    logger: {
      ...{ error: none, info: none, debug: none },
      warn: (details: object, text: string) => warnings.push([details, text]),
    } as never,
    override: [[Clock, clock]],
  })
  const send = async (token: string) =>
    (await app.inject({ url: '/me', headers: { authorization: `Bearer ${token}` } })).status
  warnings.length = 0
  return { app, send, warnings }
}

describe('an application that refuses every token', () => {
  it.each<[string, AuthSettings, object, string]>([
    [
      'issuer',
      { ...issuing, issuer: 'https://id.example/' },
      { iss: issuing.issuer, expected: 'https://id.example/' },
      'auth.issuer',
    ],
    [
      'audience',
      { ...issuing, audience: 'desk' },
      { aud: 'shop', expected: 'desk' },
      'auth.audience',
    ],
    [
      'missing audience',
      { issuer: issuing.issuer },
      { aud: 'shop', expected: null },
      'auth.audience',
    ],
  ])('warns once of a wrong %s', async (_, auth, details, text) => {
    await using issuer = await startIssuer(own)
    const { app, send, warnings } = await startVerifier(auth)
    for (let count = 0; count < 3; count++)
      expect(await send(await issuer.get(Auth).getToken({ sub: `${count}` }))).toBe(401)
    expect(warnings).toEqual([[details, expect.stringContaining(text)]])
    await app.close()
  })

  it('warns once of a wrong key', async () => {
    await using issuer = await startIssuer(other)
    const { app, send, warnings } = await startVerifier(issuing)
    for (let count = 0; count < 3; count++)
      await send(await issuer.get(Auth).getToken({ sub: `${count}` }))
    expect(warnings).toEqual([[expect.anything(), expect.stringContaining('APP_PUBLIC_KEY')]])
    await app.close()
  })

  it('warns of a clock that is behind, and of one that is ahead', async () => {
    const clock = new TestClock()
    await using issuer = await startIssuer(own)
    await using late = await startIssuer(own, clock)
    await clock.advance('2h')
    const behind = await startVerifier(issuing)
    await behind.send(await late.get(Auth).getToken({ sub: 'ada' }))
    expect(behind.warnings).toEqual([[expect.anything(), expect.stringContaining('clocks')]])
    const ahead = await startVerifier(issuing, clock)
    const tokens = []
    for (let count = 0; count < 4; count++)
      tokens.push(await issuer.get(Auth).getToken({ sub: `${count}` }))
    // One or two old tokens are normal.
    for (const token of tokens.slice(0, 2)) await ahead.send(token)
    expect(ahead.warnings).toEqual([])
    for (const token of tokens) await ahead.send(token)
    expect(ahead.warnings).toEqual([[expect.anything(), expect.stringContaining('clocks')]])
    await Promise.all([behind.app.close(), ahead.app.close()])
  })

  it('is silent once a token was accepted, and for garbage', async () => {
    await using issuer = await startIssuer(own)
    await using foreign = await startIssuer(other)
    const { app, send, warnings } = await startVerifier(issuing)
    expect(await send('garbage')).toBe(401)
    expect(await send(await issuer.get(Auth).getToken({ sub: 'ada' }))).toBe(200)
    expect(await send(await foreign.get(Auth).getToken({ sub: 'ada' }))).toBe(401)
    expect(warnings).toEqual([])
    await app.close()
  })
})
