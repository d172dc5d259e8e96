/** Inserting from streams, and streams of changes. Source: docs/records/writes.md, Streams; docs/csv.md; docs/records/transactions.md, Changes. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { BeforeWrite, connect, type Database, Field, type NewRow, Record } from 'filigree'
import { startBothEngines } from './both-engines.js'
import { importWares, Ware } from './csv-files.js'

@Record
class Line {
  @Field('id') id!: number
  @Field('string', { unique: true }) text!: string
  @Field('integer') place!: number
}

@Record
class Hooked {
  @Field('id') id!: number
  @Field('string') text!: string
  @BeforeWrite() check(): void {
    this.text = this.text.toUpperCase()
  }
}

const engines = await startBothEngines()

/** How a test source was used. */
interface Source {
  read: number
  isClosed: boolean
}

async function* linesOf(count: number, source: Source, wait = false): AsyncGenerator<NewRow<Line>> {
  try {
    for (let index = 0; index < count; index++) {
      source.read++
      if (wait || index % 500 === 0) await new Promise((resolve) => setImmediate(resolve))
      yield { text: `line ${index}`, place: index }
    }
  } finally {
    source.isClosed = true
  }
}

describe.each(engines)('streams on %s', (_, open) => {
  let database: Database
  beforeAll(async () => {
    database = await connect(await open(), { records: [Line, Hooked, Ware] })
    await database.sync()
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    for (const name of ['line', 'hooked', 'ware']) await database.kysely.deleteFrom(name).execute()
  })
  const newSource = (): Source => ({ read: 0, isClosed: false })

  it('are inserted from generators and streams, with progress', async () => {
    const source = newSource()
    const done: number[] = []
    const lines = database.records(Line)
    const options = { onProgress: (progress: { done: number }) => done.push(progress.done) }
    expect(await lines.insertMany(linesOf(12_345, source), options)).toBe(12_345)
    expect([source, done.at(-1), done.length]).toStrictEqual([
      { read: 12_345, isClosed: true },
      12_345,
      13,
    ])
    expect(await lines.count()).toBe(12_345)
    const more = Readable.from([
      { text: 'a', place: 1 },
      { text: 'b', place: 2 },
    ])
    expect(await lines.insertMany(more)).toBe(2)
    expect(await lines.insertMany([])).toBe(0)
    async function* texts() {
      yield { text: 'a' }
      await Promise.resolve()
      yield { text: 'b' }
    }
    expect(await database.records(Hooked).insertMany(texts())).toBe(2)
    expect(await database.records(Hooked).count({ text: 'B' })).toBe(1)
  })

  it('are read at most 20,000 rows ahead', async () => {
    const source = newSource()
    let maxAhead = 0
    let written = 0
    const watched = {
      async *[Symbol.asyncIterator]() {
        for await (const row of linesOf(60_000, source)) {
          maxAhead = Math.max(maxAhead, source.read - written)
          yield row
        }
      },
    }
    await database.records(Line).insertMany(watched, {
      onProgress: ({ done }) => {
        written = done
      },
    })
    expect(maxAhead).toBeLessThanOrEqual(20_001)
  })

  it.each([100, 11_000, 25_000])(
    'stop and close at the invalid row %i, and name its index',
    async (errorIndex) => {
      const source = newSource()
      async function* rowsWithError() {
        for await (const row of linesOf(100_000, source))
          yield row.place === errorIndex ? { ...row, place: 'x' as never } : row
      }
      await expect(database.records(Line).insertMany(rowsWithError())).rejects.toMatchObject({
        status: 400,
        errors: [{ path: `${errorIndex}.place` }],
      })
      expect(source.isClosed).toBe(true)
      expect(source.read).toBeLessThanOrEqual(errorIndex + 20_001)
      expect(await database.records(Line).count()).toBe(0)
    },
  )

  it('stop when the database rejects a row, even if the source never ends', async () => {
    let isClosed = false
    const forever = {
      [Symbol.asyncIterator]() {
        let index = 0
        let end: (() => void) | undefined
        return {
          next: (): Promise<IteratorResult<NewRow<Line>>> =>
            index < 1000
              ? Promise.resolve({ value: { text: 'same', place: index++ }, done: false })
              : new Promise((resolve) => {
                  end = () => {
                    resolve({ value: undefined, done: true })
                  }
                }),
          return: (): Promise<IteratorResult<NewRow<Line>>> => {
            isClosed = true
            end?.()
            return Promise.resolve({ value: undefined, done: true })
          },
        }
      },
    }
    await expect(database.records(Line).insertMany(forever)).rejects.toMatchObject({ status: 409 })
    expect(isClosed).toBe(true)
  })

  it('insert nothing if the source fails', async () => {
    async function* broken() {
      yield { text: 'a', place: 1 }
      await Promise.resolve()
      throw new Error('The line is dead.')
    }
    await expect(database.records(Line).insertMany(broken())).rejects.toThrow('The line is dead.')
    await expect(database.records(Line).insertMany(7 as never)).rejects.toThrow(/iterable/)
    expect(await database.records(Line).count()).toBe(0)
  })

  it('of changes report every change from the start until the loop ends', async () => {
    const lines = database.records(Line)
    const changes = database.changes(Line)
    const { id } = await lines.create({ text: 'a', place: 1 })
    await database.records(Ware).create({ name: 'x', price: 1 })
    await lines.update(id, { place: 2 })
    await lines.delete(id)
    const events: string[] = []
    for await (const change of changes) {
      events.push(change.event)
      if (change.event === 'deleted') break
    }
    expect(events).toStrictEqual(['created', 'updated', 'deleted'])
    expect(await changes.next()).toStrictEqual({ value: undefined, done: true })
  })

  it('of changes are buffered up to a limit, and report to a slow reader how many were lost', async () => {
    const changes = database.changes(Line, { everywhere: true })
    const first = changes.next()
    await database.records(Line).create({ text: 'first', place: 0 })
    expect((await first).value).toMatchObject({ event: 'created', record: Line })
    const created = await database
      .records(Line)
      .createMany(Array.from({ length: 4500 }, (__, index) => ({ text: `${index}`, place: index })))
    const last = created.at(-1)?.id
    let receivedCount = 0
    let lostCount = 0
    for await (const change of changes) {
      if (change.event === 'lost') lostCount += change.count ?? 0
      else receivedCount++
      if (change.event !== 'lost' && change.id === last) break
    }
    expect(receivedCount).toBeLessThanOrEqual(1000)
    expect(receivedCount + lostCount).toBe(4500)
  })

  it('of changes end with their signal, and with the database', async () => {
    const ending = new AbortController()
    const changes = database.changes(Line, { signal: ending.signal })
    const waiting = changes.next()
    ending.abort()
    expect(await waiting).toStrictEqual({ value: undefined, done: true })
    const after = database.changes(Line, { signal: ending.signal })
    expect(await after.next()).toStrictEqual({ value: undefined, done: true })
    expect(() => database.changes(Line, { every: true } as never)).toThrow(/unknown option "every"/)
    const other = await connect('sqlite::memory:', { records: [Line] })
    const pending = other.changes(Line).next()
    await other.close()
    expect(await pending).toStrictEqual({ value: undefined, done: true })
  })

  it('of CSV are imported as documented', async () => {
    const root = new URL('../../', import.meta.url)
    const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
    const code = read('test/records/csv-files.ts').replaceAll(/^export /gm, '')
    const blocks = [...read('docs/csv.md').matchAll(/^```ts\n([^]*?)^```/gm)].map(([, b = '']) => b)
    const [block = 'none'] = blocks.filter((block) => block.includes('readCsv'))
    expect(code).toContain(block)
    const wares = database.records(Ware)
    const text = 'name;price\r\n"A ""b"", c";1,5\n\'=1+1;2\n"two\nlines";3'
    expect(await importWares(wares, Readable.from([text.slice(0, 14), text.slice(14)]))).toBe(3)
    expect((await wares.list()).map(({ name, price }) => [name, price])).toStrictEqual([
      ['A "b", c', 1.5],
      ['=1+1', 2],
      ['two\nlines', 3],
    ])
    await expect(importWares(wares, Readable.from(['name,price\nx,1\ny,-2\n']))).rejects.toThrow(
      'Row 3: -2 is no price.',
    )
    expect(await wares.count()).toBe(3)
  })
})
