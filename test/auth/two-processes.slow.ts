/** Rotation, exchanges and ended sign-ins over two processes of one database. Source: decisions, Tokens. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { open } from '../bootstrap/raw-client.js'
import { startOwnPostgres, type OwnPostgres } from '../records/postgres-server.js'
import { makePair } from './key-pair.js'
import { waitUntil } from '../wait-until.js'

interface Site {
  readonly child: ChildProcess
  readonly url: string
}

const key = makePair().privatePem

async function startSite(database: string): Promise<Site> {
  const program = fileURLToPath(new URL('./sign-in-process.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', program, database], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, APP_PRIVATE_KEY: key, TSX_TSCONFIG_PATH: 'test/tsconfig.json' },
  })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('It ended at its start.')))
  ended.catch(() => undefined)
  const [url] = (await Promise.race([once(createInterface(child.stdout), 'line'), ended])) as [
    string,
  ]
  return { child, url }
}

interface SiteResponse {
  readonly status: number
  readonly fresh: string | null
  readonly body: unknown
}

async function send(site: Site, path: string, init: RequestInit = {}): Promise<SiteResponse> {
  const response = await fetch(site.url + path, init)
  const text = await response.text()
  const body: unknown = text === '' ? null : JSON.parse(text)
  return { status: response.status, fresh: response.headers.get('freshtoken'), body }
}
const me = (site: Site, token: string): Promise<SiteResponse> =>
  send(site, '/me', { headers: { authorization: `Bearer ${token}` } })
const post = (
  site: Site,
  path: string,
  headers: Record<string, string> = {},
): Promise<SiteResponse> => send(site, path, { method: 'POST', headers })
/** A token whose rotation is due, in the second after it was issued. */
async function signIn(site: Site, sub: string): Promise<string> {
  const { body } = await post(site, `/tokens/${sub}`)
  const issuedBy = Math.floor(Date.now() / 1000)
  await waitUntil(() => Math.floor(Date.now() / 1000) > issuedBy)
  return (body as { token: string }).token
}

async function untilRefused(site: Site, token: string): Promise<void> {
  await waitUntil(async () => {
    const { status } = await me(site, token)
    expect([200, 401]).toContain(status)
    return status === 401
  })
}

describe.each(['SQLite', 'PostgreSQL'])('two processes, on %s', (engine) => {
  let postgres: OwnPostgres | undefined
  let folder: string
  let one: Site
  let two: Site

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'filigree-two-'))
    if (engine === 'PostgreSQL') postgres = await startOwnPostgres()
    const database = (await postgres?.createDatabase()) ?? `sqlite:${join(folder, 'site.db')}`
    // The first process creates the tables.
    one = await startSite(database)
    two = await startSite(database)
  })
  afterAll(async () => {
    for (const { child } of [one, two]) child.kill('SIGKILL')
    await postgres?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const siteAt = (index: number): Site => (index % 2 === 0 ? one : two)
  const totalRenewals = async (): Promise<number> => {
    const responses = await Promise.all([one, two].map((site) => send(site, '/renew-count')))
    return responses.reduce((sum, { body }) => sum + (body as { renewCount: number }).renewCount, 0)
  }

  it('give fifty concurrent requests the same new token, and query for it at most twice', async () => {
    const token = await signIn(one, 'ada')
    const before = await totalRenewals()
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) => me(siteAt(index), token)),
    )
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
    expect(new Set(responses.map(({ fresh }) => fresh)).size).toBe(1)
    expect(responses[0]?.fresh).toMatch(/^ey/)
    expect((await totalRenewals()) - before).toBeLessThanOrEqual(2)
    const [{ fresh } = { fresh: '' }] = responses
    for (const site of [one, two]) expect((await me(site, fresh ?? '')).status).toBe(200)
    expect((await send(two, '/devices/ada')).body).toHaveLength(1)
  })

  it('accept the old token after a lost response within the grace period, and end the sign-in for later use', async () => {
    const token = await signIn(two, 'bob')
    // Responses that the client does not read.
    for (const site of [one, two]) {
      const socket = open(site.url)
      await once(socket, 'connect')
      socket.write(`GET /me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
      await once(socket, 'data')
      socket.destroy()
    }
    const first = await me(one, token)
    const second = await me(two, token)
    expect([first.status, second.status, second.fresh]).toEqual([200, 200, first.fresh])
    const next = first.fresh ?? ''
    for (const site of [one, two]) await untilRefused(site, token)
    const afterGrace = await Promise.all(
      Array.from({ length: 10 }, (_, index) => me(siteAt(index), token)),
    )
    expect(afterGrace.map(({ status }) => status)).toEqual(afterGrace.map(() => 401))
    for (const site of [one, two]) await untilRefused(site, next)
    expect((await send(one, '/devices/bob')).body).toEqual([])
  })

  it('refuse a token that was ended in the other process', async () => {
    const tokens = [await signIn(one, 'eve'), await signIn(one, 'eve'), await signIn(one, 'joe')]
    for (const token of tokens) for (const site of [one, two]) await me(site, token)
    const { body } = await send(two, '/devices/eve')
    const [device] = body as [{ id: string }]
    await post(one, `/end/${device.id}`)
    const id = (token: string): unknown =>
      (
        JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
          jti: string
        }
      ).jti
    const ended = tokens.find((token) => id(token) === device.id) ?? ''
    await untilRefused(two, ended)
    expect((await send(two, '/devices/eve')).body).toHaveLength(1)
    await post(one, '/end-all/joe')
    expect((await me(one, tokens[2] ?? '')).status).toBe(401)
    await untilRefused(two, tokens[2] ?? '')
  })

  it('exchange a token once for concurrent requests', async () => {
    const token = await signIn(one, 'sue')
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        post(siteAt(index), '/exchange', { 'x-token': token }),
      ),
    )
    const exchanged = new Set(responses.map(({ body }) => JSON.stringify(body)))
    expect(exchanged.size).toBe(1)
    expect([...exchanged][0]).not.toContain('null')
  })
})
