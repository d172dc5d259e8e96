import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Application,
  Auth,
  BelongsTo,
  bootstrap,
  type BootstrapOptions,
  type Claims,
  connect,
  Controller,
  type Database,
  Field,
  type FieldRules,
  Get,
  HasMany,
  ManyToMany,
  Module,
  NoAuth,
  Record,
  type Rel,
  type RowsCaller,
  Secured,
} from '../../src/index.js'
import { claimFilters, invalidResults } from '../contracts/rights/rows-cases.js'
import type { Class } from '../public-types.js'

let rows: (user: Claims | null, caller: RowsCaller) => unknown

@Record({ rows: (user, caller) => rows(user, caller) as boolean })
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('string') owner!: string
  @Field('integer', { optional: true, nullable: true }) parentId?: number | null
  @BelongsTo(() => Note) parent?: Rel<Note>
  @HasMany(() => Note) children!: Rel<Note[]>
  @ManyToMany(() => Label) labels!: Rel<Label[]>
}

@Record({ rows: (user) => user !== null && { owner: user.sub } })
class Label {
  @Field('id') id!: number
  @Field('string') owner!: string
}

@Record
class Plain {
  @Field('id') id!: number
  @Field('string') text!: string
}

@Record
@NoAuth
class PublicRecord {
  @Field('id') id!: number
}

@Controller('/notes', { crud: Note })
class Notes {}
@Controller('/plain', { crud: Plain })
class Plains {
  @Get('/open') @NoAuth hello(): string {
    return 'hello'
  }
}
@Controller('/public-records', { crud: PublicRecord })
class PublicRecords {}
@Controller('/shut', { crud: Plain })
@Secured('admin')
class Shut {}

@Module({ records: [Note, Plain, PublicRecord], controllers: [Notes, Plains, PublicRecords, Shut] })
class World {}

describe('access rules of records', () => {
  let database: Database
  let app: Application
  const lines: string[] = []
  const log = (level: string) => (_details: object, message: string) => {
    lines.push(`${level} ${message}`)
  }
  const logger = {
    error: log('error'),
    warn: log('warn'),
    info: log('info'),
    debug: () => undefined,
  }
  const start = async (options: BootstrapOptions = {}): Promise<void> => {
    database = await connect('sqlite::memory:', {
      records: [Note, Plain, PublicRecord],
      log: logger,
    })
    await database.sync()
    const env = { APP_API_KEY: 'a-key-of-sixteen-letters' }
    app = await bootstrap(World, { database, listen: false, logger, env, ...options })
  }
  const tokenOf = (claims: Claims): Promise<string> => app.get(Auth).getToken(claims)

  beforeEach(async () => {
    lines.length = 0
    rows = (user) => user !== null && { owner: user.sub }
    await start()
    await database.records(Note).insertMany([
      { text: 'a', owner: 'ann' },
      { text: 'b', owner: 'bob' },
    ])
    await database.records(Label).insertMany([{ owner: 'ann' }, { owner: 'bob' }, { owner: 'ann' }])
  })
  afterEach(async () => {
    await app.close()
    await database.close()
  })

  it.each<[string, () => unknown, string]>([
    ...invalidResults,
    ['a thenable', () => ({ then: 1, owner: 'ann' }), 'cannot be used'],
    ['null', () => null, 'returned null'],
    ['a Map for a value', () => ({ owner: new Map() }), 'with a Map in it'],
    ['a wrong value', () => ({ owner: 7 }), 'cannot be used'],
  ])(
    'show and write no rows when the rows rule returns %s, and log the error',
    async (_what, rowsResult, expectedLog) => {
      rows = rowsResult
      const token = await tokenOf({ sub: 'ann' })
      expect((await app.inject({ url: '/notes' })).json()).toEqual([])
      expect((await app.inject({ url: '/notes/1', token })).status).toBe(404)
      const json = { text: 'x', owner: 'ann' }
      expect((await app.inject({ method: 'POST', url: '/notes', json, token })).status).toBe(403)
      expect((await app.inject({ method: 'PATCH', url: '/notes/1', json, token })).status).toBe(404)
      expect((await app.inject({ method: 'DELETE', url: '/notes/1', token })).status).toBe(404)
      const query = '{ notes { id } noteCount }'
      const graphqlResponse = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
      expect(graphqlResponse.json()).toEqual({ data: { notes: [], noteCount: 0 } })
      expect(await database.records(Note).count()).toBe(2)
      expect(lines.filter((line) => line.startsWith('error Note: rows ')).join()).toContain(
        expectedLog,
      )
    },
  )

  it.each(claimFilters)(
    'do not accept %s from a token as a condition',
    async (_what, claims, rowsResult) => {
      rows = (user) => user !== null && rowsResult(user)
      const token = await tokenOf(claims)
      expect((await app.inject({ url: '/notes', token })).json()).toEqual([])
    },
  )

  it('accept a list of names from a token as values', async () => {
    rows = (user) => user !== null && { owner: { in: user.teams } }
    const token = await tokenOf({ sub: 'x', teams: ['ann', 'zoe'] })
    expect((await app.inject({ url: '/notes', token })).json()).toMatchObject([{ id: 1 }])
  })

  it('pass the kind of caller to the rows rule', async () => {
    const rowsCalls: unknown[] = []
    rows = (user, caller) => {
      rowsCalls.push([user?.sub ?? null, caller])
      return true
    }
    await app.inject({ url: '/notes/1' })
    await app.inject({ url: '/notes/1', token: 'a-key-of-sixteen-letters' })
    await app.inject({ url: '/notes/1', token: await tokenOf({ sub: 'ann' }) })
    expect(rowsCalls).toEqual([
      [null, {}],
      [null, { by: 'key' }],
      ['ann', { by: 'token' }],
    ])
  })

  it('keep links to rows the caller may not see, and reject new ones', async () => {
    await database.records(Note).link(1, 'labels', [1, 2])
    const context = { user: { sub: 'ann' } }
    const linkLabels = async (ids: number[]) => {
      const text = `mutation ($ids: [ID!]) { updateNote(id: 1, input: { labelIds: $ids }) { id } }`
      const { errors } = await app.graphql.execute(text, { ids: ids.map(String) }, context)
      return errors?.[0]?.extensions.code ?? 'linked'
    }
    const linkedLabels = async () => {
      const note = await database.records(Note).find(1, { with: ['labels'] })
      return note?.labels.map(({ id }) => id).sort()
    }
    expect([await linkLabels([3]), await linkedLabels()]).toEqual(['linked', [2, 3]])
    for (const hidden of [2, 99])
      expect([await linkLabels([hidden]), await linkedLabels()]).toEqual(['CONFLICT', [2, 3]])
    expect([await linkLabels([]), await linkedLabels()]).toEqual(['linked', [2]])
  })

  it('check a write together with its nested rows', async () => {
    rows = (user) => user !== null && { or: [{ owner: user.sub }, { parent: { owner: user.sub } }] }
    const create = (child: string) =>
      `mutation { createNote(input: { text: "p", owner: "ann", children: [{ text: "c", owner: "${child}" }] }) { id } }`
    const context = { user: { sub: 'ann' } }
    expect((await app.graphql.execute(create('bob'), {}, context)).errors).toBeUndefined()
    rows = (user) => user !== null && { owner: user.sub }
    const { errors } = await app.graphql.execute(create('bob'), {}, context)
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'FORBIDDEN' })
    expect(await database.records(Note).count()).toBe(4)
  })

  it('do not reveal the hidden rows that block a deletion', async () => {
    await database.records(Note).create({ text: 'c', owner: 'bob', parentId: 1 })
    const token = await tokenOf({ sub: 'ann' })
    const response = await app.inject({ method: 'DELETE', url: '/notes/1', token })
    expect([response.status, response.json()]).toEqual([
      409,
      { error: 'This Note is still referred to by other records.', code: 'CONFLICT' },
    ])
  })

  it('are reported at the start for records without restrictions', async () => {
    const reportedLines = () => lines.filter((line) => line.includes('Callers without a sign-in'))
    expect(reportedLines()).toEqual([
      'info Callers without a sign-in can read Plain. Restrict a record with @Secured or rows, or confirm with @NoAuth that it is public. Every caller with a token can write Plain. Public by @NoAuth: PublicRecord. Open, shows no rows without a sign-in: Label, Note.',
    ])
  })

  it('close all reads with auth.closed, except @NoAuth', async () => {
    await app.close()
    await database.close()
    await start({ auth: { closed: true } })
    const status = async (url: string, token?: string) => (await app.inject({ url, token })).status
    expect([await status('/plain'), await status('/plain', await tokenOf({ sub: 'x' }))]).toEqual([
      401, 200,
    ])
    expect([await status('/plain/open'), await status('/public-records')]).toEqual([200, 200])
    const graphqlStatus = async (query: string) =>
      (await app.inject({ method: 'POST', url: '/graphql', json: { query } })).status
    expect([
      await graphqlStatus('{ plains { id } }'),
      await graphqlStatus('{ publicRecords { id } }'),
    ]).toEqual([401, 200])
  })

  it('yield to the decorator of a controller', async () => {
    expect((await app.inject({ url: '/shut' })).status).toBe(401)
    expect((await app.inject({ url: '/shut', token: await tokenOf({ sub: 'x' }) })).status).toBe(
      403,
    )
  })
})

class Card {
  @Field('string') owner!: string
  @Secured('admin')
  @Field('string', { optional: true })
  pin?: string
}

class Wallet {
  @Field(() => [Card]) cards!: Card[]
}

class Delivery {
  @Field('string', { optional: true, writes: 'admin' }) status?: string
}

/** Starts an application whose record has a field of this class. */
function startWith(nested: () => Class, rules: FieldRules): Promise<string> {
  @Record
  class Purchase {
    @Field('id') id!: number
    @Field(nested, { optional: true, ...rules }) value?: object
  }
  @Module({ records: [Purchase] })
  class Shop {}
  return bootstrap(Shop, { listen: false, logger: false }).then(
    async (started) => {
      await started.close()
      return 'started'
    },
    (error: unknown) => String(error),
  )
}

describe('an access rule in a nested class of a record', () => {
  it.each([
    [() => Card, '@Secured of Card.pin'],
    [() => Wallet, '@Secured of Card.pin'],
    [() => Delivery, 'writes of Delivery.status'],
  ])('stops the start, because it has no effect: %s', async (nested, rule) => {
    const text = await startWith(nested, {})
    expect(text).toContain(`Purchase.value: ${rule} has no effect in a record`)
    expect(text).toContain('1 problem')
  })

  it('is accepted in a hidden field, which no client reads or writes', async () => {
    expect(await startWith(() => Card, { hidden: true })).toBe('started')
  })
})

/** Types: `rows` may not return a promise, and the fields of its filter are checked. */
export const typed = [
  Record({ rows: (user) => user !== null && { owner: user.sub } }),
  Record<Note>({ rows: (user) => user !== null && { owner: user.sub ?? null } }),
  // @ts-expect-error -- a promise of true
  Record({ rows: () => Promise.resolve(true) }),
  // @ts-expect-error -- a promise of a filter
  Record({ rows: () => Promise.resolve({ owner: 'x' }) }),
  // @ts-expect-error -- a Map is not a filter
  Record({ rows: () => new Map([['owner', 'x']]) }),
  // @ts-expect-error -- not a field of the record
  Record<Note>({ rows: () => ({ ownr: 'x' }) }),
]
