/** `filigree/client/passkeys`: its size, and what it sends. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { api, createClient } from 'filigree/client'
import { passkeysOf } from 'filigree/client/passkeys'
import { buildClient, passkeyFiles, type BuiltClient } from './built-client.js'

const limit = 2048
let built: BuiltClient
beforeAll(async () => {
  built = await buildClient()
})
afterAll(() => built.remove())

describe('the published half of passkeys', () => {
  it.each(passkeyFiles)('%s has at most 2,048 bytes, gzip -9', async (name) => {
    const bytes = gzipSync(await built.read(name), { level: 9 }).length
    process.stdout.write(`client/${name}: ${bytes} of ${limit} bytes, gzip -9\n`)
    expect(bytes).toBeLessThanOrEqual(limit)
    expect(bytes).toBeGreaterThan(200)
  })

  it('shares its client with the file beside it', async () => {
    expect(await built.read('passkeys.mjs')).toContain('from"./filigree.mjs"')
  })
})

describe('api.passkeys', () => {
  const client = createClient({
    baseUrl: 'https://desk.example',
    fetch: (url, { method, body }) => {
      sent.push([method, url, body])
      return Promise.resolve(Response.json({ challenge: 'AAAA' }))
    },
  })
  let sent: unknown[][] = []
  const own = passkeysOf(client)

  it('is there once the file is imported', () => {
    expect(typeof api.passkeys.register).toBe('function')
    expect(api.passkeys.supported).toBe(false)
  })

  it('asks for options, asks the browser, and sends what it says', async () => {
    const page = globalThis as Record<string, unknown>
    const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator')
    const requestedOptions: unknown[] = []
    const parse = (json: unknown): unknown => ({ parsed: json })
    page.PublicKeyCredential = {
      parseCreationOptionsFromJSON: parse,
      parseRequestOptionsFromJSON: parse,
    }
    const answer = (options: unknown): Promise<object> => {
      requestedOptions.push(options)
      return Promise.resolve({ toJSON: () => ({ id: 'x' }) })
    }
    const value = { credentials: { create: answer, get: answer } }
    Object.defineProperty(globalThis, 'navigator', { value, configurable: true })
    try {
      await own.register({ name: 'phone' })
      await own.signIn({ name: 'ada', autofill: true })
    } finally {
      delete page.PublicKeyCredential
      if (before === undefined) delete page.navigator
      else Object.defineProperty(globalThis, 'navigator', before)
    }
    expect(sent).toEqual([
      ['POST', 'https://desk.example/passkeys/register/options', '{"name":"phone"}'],
      ['POST', 'https://desk.example/passkeys/register/verify', '{"id":"x"}'],
      ['POST', 'https://desk.example/passkeys/signin/options', '{"name":"ada"}'],
      ['POST', 'https://desk.example/passkeys/signin/verify', '{"id":"x"}'],
    ])
    const publicKey = { parsed: { challenge: 'AAAA' } }
    expect(requestedOptions).toEqual([{ publicKey }, { publicKey, mediation: 'conditional' }])
  })

  it('lists and removes', async () => {
    sent = []
    await own.list()
    await own.remove('a/b')
    expect(sent.map((call) => call.slice(0, 2))).toEqual([
      ['GET', 'https://desk.example/passkeys'],
      ['DELETE', 'https://desk.example/passkeys/a%2Fb'],
    ])
  })
})
