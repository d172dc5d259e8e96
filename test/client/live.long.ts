import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import {
  bootstrap,
  Controller,
  events,
  Get,
  HttpError,
  Module,
  type Application,
  type EventItem,
  type HttpRequest,
} from 'filigree'
import { createClient } from '../../client/index.js'
import { createLive, type LiveDetails } from '../../client/live.js'
import { buildClient, type BuiltClient } from './built-client.js'
import { recordFetch } from './recording-fetch.js'
import { waitUntil } from '../wait-until.js'

interface Row {
  id: number
  name?: string
}

/** One who listens, as the server sees it. */
interface Listening {
  /** Which test it is of. */
  readonly of: string | undefined
  readonly last: string | undefined
  send(event: string, data: object, id?: string): void
  end(): void
  readonly isOpen: boolean
}

const everybody: Listening[] = []
/** Answers are kept for a moment after their test: each test asks for its own. */
let test = 0
const at = (more = ''): string => `/rows?of=${test}${more}`
const heard = (): Listening[] => everybody.filter(({ of }) => of === String(test))
let refusal: HttpError | undefined
/** Requests that were answered with the refusal. */
let refusedCount = 0
/** The number of requests for a busy path. */
let busy = 0

function listen(
  of: string | undefined,
  last: string | undefined,
): AsyncIterableIterator<EventItem> {
  const items: EventItem[] = []
  let wake: () => void = () => undefined
  let isOpen = true
  const end = (): void => {
    isOpen = false
    wake()
  }
  everybody.push({
    of,
    last,
    send: (event, data, id) => {
      items.push({ event, data, ...(id === undefined ? {} : { id }) })
      wake()
    },
    end,
    get isOpen() {
      return isOpen
    },
  })
  const iterator: AsyncIterableIterator<EventItem> = {
    next: async () => {
      for (;;) {
        const value = items.shift()
        if (value !== undefined) return { value, done: false }
        if (!isOpen) return { value: undefined, done: true }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    return: () => {
      end()
      return Promise.resolve({ value: undefined, done: true })
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}

/** Ends the requests to `/rows/held`, in their order. */
const heldRequests: (() => void)[] = []
/** The number of these requests whose client has left. */
let leftRequestCount = 0

@Controller('/rows')
class Rows {
  @Get('/') list(headers: Record<string, string>, query: Record<string, string>) {
    if (refusal !== undefined) {
      refusedCount++
      throw refusal
    }
    if (query.busy !== undefined) {
      busy++
      const headers: Record<string, string> = {}
      if (query.busy !== '') headers['Retry-After'] = query.busy
      throw new HttpError(503, 'later', { headers })
    }
    return events(listen(query.of, headers['last-event-id']))
  }
  @Get('/plain') plain() {
    return [{ id: 1 }]
  }
  @Get('/held') held(request: HttpRequest) {
    request.signal.addEventListener('abort', () => leftRequestCount++)
    return new Promise((resolve) => {
      heldRequests.push(() => {
        resolve([])
      })
    })
  }
}

@Module({ controllers: [Rows] })
class RowsModule {}

let app: Application
let live: ReturnType<typeof createLive>
const stops: (() => void)[] = []
beforeAll(async () => {
  app = await start()
  live = createLive(createClient({ baseUrl: `${app.url}/api` }))
})
afterEach(() => {
  refusal = undefined
  refusedCount = 0
  busy = 0
  for (const stop of stops.splice(0)) stop()
  for (const one of everybody) one.end()
  test++
})
afterAll(() => app.close())

function start(): Promise<Application> {
  const options = { logger: false, env: {}, port: 0, host: '127.0.0.1', basePath: '/api' } as const
  return bootstrap(RowsModule, options)
}

/** What was drawn, and a promise for the next. */
class Drawn {
  readonly calls: { rows: Row[]; details: LiveDetails }[] = []
  #wake: () => void = () => undefined

  readonly draw = (rows: Row[], details: LiveDetails): void => {
    this.calls.push({ rows, details })
    this.#wake()
  }

  async after(count: number): Promise<{ rows: Row[]; details: LiveDetails }> {
    while (this.calls.length < count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    return this.calls[count - 1]!
  }
}

function watch(path: string, options = {}, by = live): Drawn {
  const drawn = new Drawn()
  stops.push(by(path, drawn.draw, options))
  return drawn
}

describe('api.live', () => {
  it('draws the whole answer, then what becomes of it', async () => {
    const drawn = watch(at())
    await waitUntil(() => heard().length === 1)
    const [one] = heard()
    one!.send('live', { version: 1, data: [{ id: 1 }, { id: 2 }, { id: 3 }] }, 'a:1')
    expect(await drawn.after(1)).toEqual({
      rows: [{ id: 1 }, { id: 2 }, { id: 3 }],
      details: { version: 1, set: [{ id: 1 }, { id: 2 }, { id: 3 }], gone: [], lost: false },
    })
    one!.send('live', { version: 2, set: [{ id: 4 }, { id: 2, name: 'b' }], gone: [1] }, 'a:2')
    expect(await drawn.after(2)).toEqual({
      rows: [{ id: 2, name: 'b' }, { id: 3 }, { id: 4 }],
      details: { version: 2, set: [{ id: 4 }, { id: 2, name: 'b' }], gone: [1], lost: false },
    })
    one!.send('live', { version: 3, set: [], gone: [], order: [4, 3, 2] }, 'a:3')
    expect((await drawn.after(3)).rows.map(({ id }) => id)).toEqual([4, 3, 2])
    expect(drawn.calls[2]!.rows).not.toBe(drawn.calls[1]!.rows)
  })

  it('asks for all of a page over one connection', async () => {
    const paths = [at(), at('&limit=1'), at('&limit=2')]
    const drawn = paths.map((path) => watch(path))
    await waitUntil(() => heard().filter(({ isOpen }) => isOpen).length === 3)
    for (const [place, one] of heard()
      .filter(({ isOpen }) => isOpen)
      .entries()) {
      one.send('live', { version: 1, data: [{ id: place }] }, 'a:1')
    }
    const results = await Promise.all(drawn.map((one) => one.after(1)))
    expect(results.map(({ rows }) => rows[0]!.id).sort()).toEqual([0, 1, 2])
  })

  it('asks once for a path that is drawn twice, and tells the second at once', async () => {
    const first = watch(at())
    await waitUntil(() => heard().length === 1)
    heard()[0]!.send('live', { version: 7, data: [{ id: 1 }] }, 'a:7')
    await first.after(1)
    const second = watch(at())
    expect(await second.after(1)).toMatchObject({ rows: [{ id: 1 }], details: { version: 7 } })
    // A query is sent 20 ms after it was added, with the others that were added meanwhile.
    await pause(60)
    expect(heard()).toHaveLength(1)
  })

  it('goes on by its version after the connection was lost, and takes a whole answer where it is given one', async () => {
    const drawn = watch(at())
    await waitUntil(() => heard().length === 1)
    heard()[0]!.send('live', { version: 1, data: [{ id: 1 }] }, 'a:1')
    await drawn.after(1)
    heard()[0]!.end()
    await waitUntil(() => heard().length === 2)
    expect(heard()[1]!.last).toBe('a:1')
    heard()[1]!.send('live', { version: 2, set: [{ id: 2 }], gone: [] }, 'a:2')
    expect((await drawn.after(2)).rows).toEqual([{ id: 1 }, { id: 2 }])
    heard()[1]!.end()
    await waitUntil(() => heard().length === 3)
    heard()[2]!.send('live', { version: 1, data: [{ id: 9 }], lost: true }, 'b:1')
    expect(await drawn.after(3)).toMatchObject({ rows: [{ id: 9 }], details: { lost: true } })
  })

  it('asks for the whole where a version does not follow', async () => {
    const drawn = watch(at())
    await waitUntil(() => heard().length === 1)
    heard()[0]!.send('live', { version: 1, data: [{ id: 1 }] }, 'a:1')
    await drawn.after(1)
    heard()[0]!.send('live', { version: 3, set: [], gone: [1] }, 'a:3')
    await waitUntil(() => heard().length === 2)
    expect(heard()[1]!.last).toBeUndefined()
    heard()[1]!.send('live', { version: 3, data: [] }, 'a:3')
    expect((await drawn.after(2)).rows).toEqual([])
  })

  it('says why it was closed, and tries a refusal that passes again', async () => {
    const statuses: number[] = []
    watch(at(), { onClosed: (status: number) => statuses.push(status) })
    await waitUntil(() => heard().length === 1)
    heard()[0]!.send('closed', { status: 403 })
    await waitUntil(() => statuses.length === 1)
    watch('/rows/plain', { onClosed: (status: number) => statuses.push(status) })
    watch('/rows/nowhere', { onClosed: (status: number) => statuses.push(status) })
    await waitUntil(() => statuses.length === 3)
    expect([...statuses].sort()).toEqual([403, 404, 406])
    refusal = new HttpError(503, 'later')
    const drawn = watch(at('&again'), { onClosed: (status: number) => statuses.push(status) })
    await waitUntil(() => refusedCount > 0)
    refusal = undefined
    await waitUntil(() => heard().length === 2)
    heard()[1]!.send('live', { version: 1, data: [] }, 'a:1')
    await drawn.after(1)
    expect(statuses).toHaveLength(3)
  })

  it.each([400, 403, 404, 413])(
    'tells its listeners that the server refuses it with %d',
    async (status) => {
      let requests = 0
      const fetch = () => {
        requests++
        return Promise.resolve(Response.json({ error: 'No.' }, { status }))
      }
      const mine = createLive(createClient({ baseUrl: `${app.url}/api`, fetch }))
      const statuses: number[] = []
      const onClosed = (closed: number): void => void statuses.push(closed)
      watch(at(), { onClosed }, mine)
      watch(at('&more'), { onClosed }, mine)
      await waitUntil(() => statuses.length === 2)
      expect(statuses).toEqual([status, status])
      // Both came in one request, and nothing is requested any more.
      expect(requests).toBe(1)
    },
  )

  it('shares the token of its client without a store', async () => {
    const withToken = (FreshToken: string, status: number) =>
      new Response('{}', { status, headers: { FreshToken } })
    const { fetch, calls } = recordFetch(withToken('first', 200), withToken('second', 403))
    const client = createClient({ fetch, auth: true, baseUrl: 'http://shop.example' })
    await client.post('/login')
    await new Promise<number>((resolve) => {
      stops.push(createLive(client)('/lamps', () => undefined, { onClosed: resolve }))
    })
    await expect(client.get('/lamps')).rejects.toMatchObject({ status: 403 })
    expect(calls.map(({ headers }) => headers.authorization)).toEqual([
      undefined,
      'Bearer first',
      'Bearer second',
    ])
  })

  it('begins again after 401 with another token alone', async () => {
    const store = new Map([['app_token', 'bad']])
    let readCount = 0
    const storage = {
      getItem: (key: string) => {
        readCount++
        return store.get(key) ?? null
      },
      setItem: (key: string, value: string) => void store.set(key, value),
    }
    const statuses: number[] = []
    const mine = createLive(createClient({ baseUrl: `${app.url}/api`, auth: true, storage }))
    watch(at(), { onClosed: (status: number) => statuses.push(status) }, mine)
    await waitUntil(() => statuses.length === 1)
    expect(statuses).toEqual([401])
    // The client looks for another token once a second.
    const readBefore = readCount
    await waitUntil(() => readCount >= readBefore + 4)
    expect(statuses).toEqual([401])
    store.delete('app_token')
    await waitUntil(() => heard().length === 1)
  })

  it('draws for the other queries when one of them fails', async () => {
    const said = jest.spyOn(console, 'error').mockImplementation(() => undefined)
    const fault = new Error('cannot draw')
    stops.push(
      live(at(), () => {
        throw fault
      }),
    )
    const drawn = watch(at())
    await waitUntil(() => heard().length === 1)
    heard()[0]!.send('live', { version: 1, data: [{ id: 1 }] }, 'a:1')
    await drawn.after(1)
    heard()[0]!.send('live', { version: 2, set: [{ id: 2 }], gone: [] }, 'a:2')
    expect((await drawn.after(2)).rows).toEqual([{ id: 1 }, { id: 2 }])
    expect(heard()).toHaveLength(1)
    expect(said.mock.calls).toEqual([[fault], [fault]])
    said.mockRestore()
  })

  it.each([
    ['of the application', (sub: string) => `x.${btoa(JSON.stringify({ sub, jti: sub }))}.x`],
    ["of another's that name no sign-in", (sub: string) => `x.${btoa(JSON.stringify({ sub }))}.x`],
  ])('keeps nothing of one for the next who signs in, by tokens %s', async (_of, tokenOf) => {
    const store = new Map([['app_token', tokenOf('ada')]])
    const storage = {
      getItem: (key: string) => store.get(key) ?? null,
      setItem: (key: string, value: string) => void store.set(key, value),
    }
    const fetchAsAnybody: typeof fetch = (url, init) => {
      const headers = new Headers(init?.headers)
      headers.delete('authorization')
      return fetch(url, { ...init, headers })
    }
    const baseUrl = `${app.url}/api`
    const mine = createLive(createClient({ baseUrl, auth: true, storage, fetch: fetchAsAnybody }))
    const ada = watch(at(), {}, mine)
    await waitUntil(() => heard().length === 1)
    heard()[0]!.send('live', { version: 1, data: [{ id: 1 }] }, 'a:1')
    await ada.after(1)
    store.set('app_token', tokenOf('bob'))
    watch(at('&other'), {}, mine)
    const bob = watch(at(), {}, mine)
    expect(bob.calls).toEqual([])
    await waitUntil(() => heard().filter(({ isOpen }) => isOpen).length === 2)
    const openRequests = heard().filter(({ isOpen }) => isOpen)
    expect(openRequests.map(({ last }) => last)).toEqual([undefined, undefined])
    for (const one of openRequests) one.send('live', { version: 1, data: [{ id: 2 }] }, 'b:1')
    expect((await bob.after(1)).rows).toEqual([{ id: 2 }])
  })

  it('asks again after an answer without a body', async () => {
    let requests = 0
    const fetchLater: typeof fetch = (url, init) =>
      requests++ === 0 ? Promise.resolve(new Response(null, { status: 204 })) : fetch(url, init)
    const baseUrl = `${app.url}/api`
    const drawn = watch(at(), {}, createLive(createClient({ baseUrl, fetch: fetchLater })))
    await waitUntil(() => heard().length === 1)
    heard()[0]!.send('live', { version: 1, data: [] }, 'a:1')
    await drawn.after(1)
  })

  it('leaves the other queries alone while one of them is delayed', async () => {
    const drawn = watch(at())
    watch(at('&busy=60'))
    await waitUntil(() => heard().length === 1 && busy === 1)
    heard()[0]!.send('live', { version: 1, data: [{ id: 1 }] }, 'a:1')
    await drawn.after(1)
    const other = watch(at('&other'))
    await waitUntil(() => heard().length === 3)
    heard()[2]!.send('live', { version: 1, data: [] }, 'b:1')
    await other.after(1)
    expect(heard()[1]!.last).toBe('a:1')
    await waitUntil(() => !heard()[0]!.isOpen)
    expect(busy).toBe(1)
  })

  it('waits longer each time for a path that is never answered', async () => {
    // Waits of 0.75 s, 1.5 s …; what has come meanwhile for another path shortens none.
    jest.spyOn(Math, 'random').mockReturnValue(1)
    let now = Date.now()
    jest.spyOn(Date, 'now').mockImplementation(() => now)
    const begin = globalThis.setInterval
    jest
      .spyOn(globalThis, 'setInterval')
      .mockImplementation(() => begin(() => undefined, 3_600_000).unref())
    const mine = createLive(createClient({ baseUrl: `${app.url}/api` }))
    let queryNumber = 0
    /** Requests one more path, and so all paths that may be requested again, until it gets a response. */
    const busyAfter = async (milliseconds: number): Promise<number> => {
      now += milliseconds
      const drawn = watch(at(`&other=${++queryNumber}`), {}, mine)
      await waitUntil(() => {
        for (const one of heard()) if (one.isOpen) one.send('live', { version: 1, data: [] }, 'a:1')
        return drawn.calls.length > 0
      })
      return busy
    }
    watch(at('&busy'), {}, mine)
    try {
      expect(await busyAfter(0)).toBe(1)
      expect(await busyAfter(740)).toBe(1)
      expect(await busyAfter(20)).toBe(2)
      expect(await busyAfter(1480)).toBe(2)
      expect(await busyAfter(30)).toBe(3)
    } finally {
      jest.restoreAllMocks()
    }
  })

  it('is refused streams of other events, and they are read no further', async () => {
    const statuses: number[] = []
    watch(at(), { onClosed: (status: number) => statuses.push(status) })
    await waitUntil(() => heard().length === 1)
    heard()[0]!.send('message', {})
    await waitUntil(() => statuses.length === 1)
    expect(statuses).toEqual([406])
    await waitUntil(() => !heard()[0]!.isOpen)
  })

  it('lets the server go when nobody draws any more', async () => {
    const drawn = new Drawn()
    const stop = live(at(), drawn.draw)
    await waitUntil(() => heard().length === 1)
    stop()
    await waitUntil(() => !heard()[0]!.isOpen)
  })
})

describe('the route of all live answers', () => {
  const ask = (json: unknown) =>
    app.inject({
      method: 'POST',
      url: '/api/filigree/live',
      json,
      headers: { accept: 'text/event-stream' },
    })

  it.each([
    [{}, 400],
    [{ asks: [] }, 400],
    [{ asks: [{}] }, 400],
    [{ asks: [{ path: 'https://evil.example/' }] }, 400],
    [{ asks: [{ path: '//evil.example/' }] }, 400],
    [{ asks: [{ path: '/rows', last: 'a\r\nb: c' }] }, 400],
    [{ asks: [{ path: '/a b' }] }, 400],
    [{ asks: Array.from({ length: 101 }, () => ({ path: '/rows' })) }, 429],
  ])('refuses %j', async (json, status) => {
    expect((await ask(json)).status).toBe(status)
  })

  it('runs a few of many requests at a time, and none after the client has left', async () => {
    const leaving = new AbortController()
    const response = await fetch(`${app.url}/api/filigree/live`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ asks: Array.from({ length: 20 }, () => ({ path: '/rows/held' })) }),
      signal: leaving.signal,
    })
    const { body } = response
    const reading = body?.getReader()
    await waitUntil(() => heldRequests.length === 6)
    expect((await app.inject({ url: '/api/rows/plain' })).status).toBe(200)
    expect(heldRequests).toHaveLength(6)
    heldRequests[0]?.()
    let text = ''
    while (!text.includes('"status":406'))
      text += Buffer.from((await reading?.read())?.value ?? []).toString()
    await waitUntil(() => heldRequests.length === 7)
    leaving.abort()
    await waitUntil(() => leftRequestCount === 6)
    expect((await app.inject({ url: '/api/rows/plain' })).status).toBe(200)
    expect(heldRequests).toHaveLength(7)
  })
})

describe('the published file', () => {
  let built: BuiltClient
  beforeAll(async () => {
    built = await buildClient()
  })
  afterAll(() => built.remove())

  it('has at most 2,048 bytes, gzip -9, beside the client', async () => {
    const text = await built.read('live.mjs')
    expect(gzipSync(text, { level: 9 }).length).toBeLessThanOrEqual(2048)
    expect(text).toContain('from"./filigree.mjs"')
  })
})
