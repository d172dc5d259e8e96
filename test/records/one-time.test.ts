/** One-time tokens. Source: decisions, Sign-in. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { bootstrap, Database, Module, oneTime, type Application, type OneTime } from 'filigree'
import { testApplication, type TestApplication } from 'filigree/testing'
import { startPostgres, type PostgresServer } from './postgres-server.js'

interface Invitation {
  readonly orgId: number
}
const invitations = oneTime<Invitation>('invitation', { for: '7d' })
const resets = oneTime<string>('password reset', { for: '10m' })

class Desk {
  static readonly inject = [invitations, resets]
  constructor(
    readonly invitations: OneTime<Invitation>,
    readonly resets: OneTime<string>,
  ) {}
}

@Module({ providers: [Desk, invitations, resets] })
class DeskModule {}

describe.each(['sqlite', 'postgres'] as const)('one-time tokens on %s', (engine) => {
  let server: PostgresServer | undefined
  let app: TestApplication
  let folder: string
  let url: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'filigree-one-time-'))
    if (engine === 'postgres') server = await startPostgres()
    url = server === undefined ? `sqlite:${join(folder, 'desk.db')}` : await server.createDatabase()
    app = await testApplication(DeskModule, { database: url })
  })
  beforeEach(() => app.reset({ emptyTables: true }))
  afterAll(async () => {
    await app.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const desk = (): Desk => app.get(Desk)
  const stored = () =>
    app.get(Database).kysely.selectFrom('filigree_one_time').selectAll().execute()

  it('return their value once', async () => {
    const token = await desk().invitations.make({ orgId: 3 })
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(await desk().invitations.take(token)).toEqual({ orgId: 3 })
    expect(await desk().invitations.take(token)).toBeNull()
  })

  it('are accepted only in the exact spelling in which they were made', async () => {
    const token = await desk().invitations.make({ orgId: 3 })
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = letters.indexOf(token.at(-1) ?? '')
    // The last letter has two unused bits.
    const sameBytes = [1, 2, 3].map((bits) => token.slice(0, -1) + (letters[last | bits] ?? ''))
    const spellings: unknown[] = [
      ...sameBytes.filter((text) => text !== token),
      ...[`${token}=`, `${token}==`, ` ${token}`, `${token} `, `${token}\n`, `\t${token}`],
      ...[`${token}\0`, `${token}\u200b`, `\ufeff${token}`, `${token}\ud800`, `${token}.`],
      ...[token.toLowerCase(), token.toUpperCase(), encodeURIComponent(`${token} `), `${token}A`],
      ...[`"${token}"`, token.slice(0, 20) + ' ' + token.slice(20), token.slice(0, -1)],
      ...[[token], [[token]], { toString: () => token }, Buffer.from(token)],
    ]
    expect(spellings.length).toBeGreaterThanOrEqual(25)
    for (const spelling of spellings)
      expect(await desk().invitations.take(spelling as string)).toBeNull()
    expect(await desk().invitations.take(token)).toEqual({ orgId: 3 })
  })

  it('can be made and taken through the oneTime provider while one application runs', async () => {
    const token = await invitations.make({ orgId: 4 })
    expect(await invitations.take(token)).toEqual({ orgId: 4 })
  })

  it('are stored only as hashes', async () => {
    const token = await desk().invitations.make({ orgId: 3 })
    const rows = await stored()
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(token)
  })

  it('are taken once by fifty concurrent calls', async () => {
    const token = await desk().invitations.make({ orgId: 3 })
    const values = await Promise.all(
      Array.from({ length: 50 }, () => desk().invitations.take(token)),
    )
    expect(values.filter((value) => value !== null)).toEqual([{ orgId: 3 }])
  })

  it('are neither taken nor made in a transaction that rolls back', async () => {
    const token = await desk().invitations.make({ orgId: 3 })
    let madeInside = ''
    const transaction = app.get(Database).transaction(async () => {
      expect(await desk().invitations.take(token)).toEqual({ orgId: 3 })
      expect(await desk().invitations.take(token)).toBeNull()
      madeInside = await desk().invitations.make({ orgId: 5 })
      throw new Error('The name is taken.')
    })
    await expect(transaction).rejects.toThrow('The name is taken.')
    expect(await desk().invitations.take(madeInside)).toBeNull()
    expect(await desk().invitations.take(token)).toEqual({ orgId: 3 })
  })

  it('end when another token is made with the same key for the same purpose', async () => {
    const first = await desk().resets.make('ann', { key: 'ann' })
    const second = await desk().resets.make('ann', { key: 'ann' })
    const bea = await desk().resets.make('bea', { key: 'bea' })
    await desk().invitations.make({ orgId: 1 }, { key: 'bea' })
    expect(await desk().resets.take(first)).toBeNull()
    expect(await desk().resets.take(second)).toBe('ann')
    expect(await desk().resets.take(bea)).toBe('bea')
  })

  it.each(['a\0b', 'a'.repeat(12_000), 'x\ud800'])('accept any text as key: %j', async (key) => {
    const first = await desk().resets.make('ann', { key })
    const other = await desk().resets.make('bea', { key: 'x\ud801' })
    const second = await desk().resets.make('ann', { key })
    expect(await desk().resets.take(first)).toBeNull()
    expect(await desk().resets.take(second)).toBe('ann')
    expect(await desk().resets.take(other)).toBe('bea')
  })

  it.each([undefined, null, 5, {}])(
    'return null for a value that is not a string: %j',
    async (token) => {
      expect(await desk().invitations.take(token as never)).toBeNull()
    },
  )

  it('expire, and are deleted later', async () => {
    const token = await desk().resets.make('ann')
    const invitation = await desk().invitations.make({ orgId: 3 })
    await app.clock.advance('11m')
    expect(await desk().resets.take(token)).toBeNull()
    await desk().resets.make('bea')
    expect(await stored()).toHaveLength(2)
    expect(await desk().invitations.take(invitation)).toEqual({ orgId: 3 })
  })

  it.each(['', 'x', '\0', '\ud800', 'a'.repeat(10_000), "' or 1=1 --"])(
    'return null for an invalid token: %j',
    async (token) => {
      await desk().invitations.make({ orgId: 3 })
      expect(await desk().invitations.take(token)).toBeNull()
    },
  )

  it('of one purpose are not accepted for another', async () => {
    const token = await desk().invitations.make({ orgId: 3 })
    expect(await desk().resets.take(token)).toBeNull()
    expect(await desk().invitations.take(token)).toEqual({ orgId: 3 })
  })

  it('require injection when several applications run', async () => {
    const other: Application = await bootstrap(DeskModule, {
      ...{ database: url, listen: false, logger: false },
    })
    await expect(async () => invitations.make({ orgId: 1 })).rejects.toThrow(
      'several applications run in this process. Inject it',
    )
    const token = await desk().invitations.make({ orgId: 9 })
    expect(await other.get(Desk).invitations.take(token)).toEqual({ orgId: 9 })
    await other.close()
  })
})

describe('oneTime', () => {
  it('reports missing and invalid options', async () => {
    expect(() => oneTime('', { for: '7d' })).toThrow('the tokens need a name')
    expect(() => oneTime('x', { for: 'soon' })).toThrow(
      'for cannot be used. Give at least one second.',
    )
    expect(() => oneTime('x', { fro: '7d' } as never)).toThrow('Did you mean "for"?')
    const unused = oneTime('unused', { for: '7d' })
    await expect(async () => unused.make('x')).rejects.toThrow('no application runs that has it')
  })
})

it('two providers with the same name stop the start', async () => {
  const duplicate = oneTime<string>('invitation', { for: '1h' })
  @Module({ providers: [invitations, duplicate] })
  class Twice {}
  await expect(testApplication(Twice)).rejects.toThrow(
    "oneTime: two providers have the name 'invitation'",
  )
})
