/** GraphQL's `query @live` over server-sent events. Source: decisions, Live queries. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import {
  ApplicationState,
  Auth,
  bootstrap,
  Database,
  Field,
  Module,
  Record as Table,
  type Application,
} from 'filigree'
import { openLive, Refused, type LiveClient } from './live-client.js'

@Table<Note>({ rows: (user) => (user === null ? { isOpen: true } : { owner: String(user.sub) }) })
class Note {
  @Field('id') id!: number
  @Field('text') title!: string
  @Field('text', { default: 'x' }) owner!: string
  @Field('boolean', { default: true }) isOpen!: boolean
}

@Table()
class Label {
  @Field('id') id!: number
  @Field('text') name!: string
}

@Module({ records: [Note, Label] })
class NotesModule {}

let app: Application
let url: string
let database: Database
const open: LiveClient[] = []

beforeAll(async () => {
  app = await bootstrap(NotesModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    graphql: { sockets: true },
    database: 'sqlite::memory:',
    env: { APP_API_KEY: 'k'.repeat(32) },
  })
  url = `${app.url}/graphql`
  database = app.get(Database)
})
afterAll(async () => {
  for (const client of open) client.leave()
  await app.close()
})

async function live(
  query: string,
  options: { token?: string; lastId?: string; variables?: object } = {},
) {
  const client = await openLive(url, { query, ...options })
  open.push(client)
  return client
}

function token(sub: string, exp?: number): Promise<string> {
  return app
    .get(Auth)
    .getToken({ sub, jti: `${sub}-token` }, exp === undefined ? {} : { expiresIn: exp })
}

interface Payload {
  readonly data?: unknown
  readonly errors?: unknown
  readonly extensions?: { readonly live: { readonly version: number } }
}

async function payload(client: LiveClient): Promise<Payload> {
  const event = await client.next()
  expect(event?.event).toBe('next')
  return JSON.parse(event?.data ?? '') as Payload
}

describe('query @live', () => {
  it('sends the result, and then differences by key', async () => {
    const labels = database.records(Label)
    const first = await labels.create({ name: 'a' })
    const client = await live('query @live { labels { id name } }')
    expect(await payload(client)).toEqual({
      data: { labels: [{ id: String(first.id), name: 'a' }] },
      extensions: { live: { version: 1 } },
    })
    const second = await labels.create({ name: 'b' })
    expect(await payload(client)).toEqual({
      extensions: {
        live: {
          version: 2,
          changes: { labels: { set: [{ id: String(second.id), name: 'b' }], gone: [] } },
        },
      },
    })
    await labels.update(first.id, { name: 'c' })
    await labels.delete(second.id)
    let received: unknown
    for (;;) {
      const { extensions } = await payload(client)
      received = extensions
      if (JSON.stringify(received).includes(`"gone":["${second.id}"]`)) break
    }
    expect(received).toMatchObject({ live: { changes: { labels: { gone: [String(second.id)] } } } })
  })

  it('sends the complete result each time where requested', async () => {
    const client = await live('query @live(whole: true) { labels { name } }')
    await payload(client)
    await database.records(Label).create({ name: 'whole' })
    const next = await payload(client)
    expect(next.data).toMatchObject({ labels: expect.arrayContaining([{ name: 'whole' }]) })
    expect(next.extensions).toEqual({ live: { version: 2 } })
  })

  it('is in the schema', () => {
    expect(app.graphql.sdl).toContain('directive @live(')
    expect(app.graphql.sdl).toContain('on QUERY')
  })

  it('cannot be used on mutations and subscriptions', async () => {
    for (const text of [
      'mutation @live { deleteLabel(id: 1) }',
      'subscription @live { labelChanged { event } }',
    ]) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ query: text }),
      })
      expect(await response.text()).toContain('Directive \\"@live\\" may not be used on')
    }
  })

  it('sends one result to a client that accepts only JSON', async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: 'query @live { labels { id } }' }),
    })
    expect(Object.keys((await response.json()) as object)).toEqual(['data'])
  })

  it('shows each caller its own rows, and ends when its token is revoked', async () => {
    const notes = database.records(Note)
    const ann = await token('ann')
    const text = 'query @live { notes { id title } }'
    const hers = await live(text, { token: ann })
    const all = await live(text)
    expect((await payload(hers)).data).toEqual({ notes: [] })
    expect((await payload(all)).data).toEqual({ notes: [] })
    await notes.create({ title: 'secret', owner: 'ann', isOpen: false })
    expect(JSON.stringify(await payload(hers))).toContain('secret')
    await notes.create({ title: 'open', owner: 'bob', isOpen: true })
    expect(JSON.stringify(await payload(all))).toContain('open')
    await app.get(Auth).revoke('ann-token')
    expect(await payload(hers)).toMatchObject({
      errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
    })
    expect(await hers.next()).toMatchObject({ event: 'complete' })
    expect(await hers.next()).toMatchObject({ event: 'closed', data: '{"status":401}' })
    expect(await hers.next()).toBeUndefined()
    expect(JSON.stringify(all.events)).not.toContain('secret')
  })

  it('resumes where the client has the version, and starts again otherwise', async () => {
    const text = 'query @live { labels { id } }'
    const client = await live(text)
    const id = (await client.next())?.id ?? ''
    const same = await live(text, { lastId: id })
    const other = await live(text, { lastId: id.replace(/\d+$/, '99') })
    const response = await payload(other)
    expect(response).toMatchObject({ data: {}, extensions: { live: { lost: true } } })
    await database.records(Label).create({ name: 'next' })
    const { extensions } = await payload(same)
    expect(extensions?.live.version).toBe(Number(id.split(':')[1]) + 1)
    expect(same.events).toHaveLength(1)
  })

  it('runs once for all callers where access does not differ, and once per caller otherwise', async () => {
    const state = app.get(ApplicationState)
    const [ann, bob] = await Promise.all(['ann3', 'bob3'].map((sub) => token(sub)))
    const before = state.live.answers
    for (const received of [ann, bob]) {
      const labels = await live('query @live { labels(limit: 2) { id } }', {
        token: received ?? '',
      })
      await payload(labels)
    }
    expect(state.live.answers).toBe(before + 1)
    for (const received of [ann, bob]) {
      const notes = await live('query @live { notes(limit: 2) { id } }', { token: received ?? '' })
      await payload(notes)
    }
    expect(state.live.answers).toBe(before + 3)
  })

  it('works over graphql-transport-ws, too, until it ends', async () => {
    const auth = app.get(Auth)
    const received = await auth.getToken({ sub: 'sam', jti: 'sam-1' })
    const client = createClient({
      url: url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${received}` },
      retryAttempts: 0,
    })
    const results = client.iterate({ query: 'query @live { mine: notes { id title } }' })
    expect((await results.next()).value).toMatchObject({ data: { mine: [] } })
    await database.records(Note).create({ title: 'over sockets', owner: 'sam', isOpen: false })
    expect((await results.next()).value).toMatchObject({
      extensions: { live: { version: 2, changes: { mine: { set: [{ title: 'over sockets' }] } } } },
    })
    await auth.revoke('sam-1')
    await expect(results.next()).rejects.toBeDefined()
    await client.dispose()
  })

  it('sends the complete result where more than rows with keys has changed', async () => {
    const text = `query ($name: String!) @live {
      all: labels { ...L }
      some: labels(where: { name: { eq: $name } }) { name }
    }
    fragment L on Label { id label: name }`
    const client = await live(text, { variables: { name: 'odd' } })
    await payload(client)
    const labels = database.records(Label)
    const even = await labels.create({ name: 'even' })
    const changes = { all: { set: [{ id: String(even.id), label: 'even' }], gone: [] } }
    expect(await payload(client)).toEqual({ extensions: { live: { version: 2, changes } } })
    await labels.create({ name: 'odd' })
    expect(await payload(client)).toMatchObject({ data: { some: [{ name: 'odd' }] } })
  })

  it('does not resume from the version of another caller', async () => {
    const notes = 'query @live { notes { id title } }'
    const ann = await live(notes, { token: await token('ann2') })
    const id = (await ann.next())?.id ?? ''
    const bob = await live(notes, { token: await token('bob2'), lastId: id })
    expect(await payload(bob)).toMatchObject({
      data: { notes: [] },
      extensions: { live: { lost: true } },
    })
    const odd = await live(notes, { lastId: 'x'.repeat(2000) })
    expect((await payload(odd)).data).toBeDefined()
  })

  it('refuses before the first message with the status', async () => {
    const bad = live('query @live { labels { id } }', { token: 'nonsense' })
    await expect(bad).rejects.toMatchObject({ status: 401 } satisfies Partial<Refused>)
    const text = 'query ($name: String!) @live { labels(where: { name: { eq: $name } }) { id } }'
    const long = live(text, { variables: { name: 'x'.repeat(70_000) } })
    await expect(long).rejects.toMatchObject({ status: 413 } satisfies Partial<Refused>)
  })
})
