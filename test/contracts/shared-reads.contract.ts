/** Short reads that run at the same time share one statement. Run on each engine: `describeSharedReads('PostgreSQL', open)`. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  Field,
  HasMany,
  Record,
  type Rel,
  connect,
  type Database,
  type Row,
} from '../../src/index.js'
import type { ClientReading, Engine } from '../../src/engines/contract/engine.js'
import { StatementRecorder } from './statement-recorder.js'
import { createRandom } from '../random.js'
import { internalsOf } from '../records/open-database.js'
import { createDatabaseRevocations, createDatabaseSessionStore } from './login-stores.js'

@Record
class Maker {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @HasMany(() => Part) parts!: Rel<Part[]>
}

@Record
class Part {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { nullable: true, optional: true }) makerId?: number | null
  @BelongsTo(() => Maker) maker!: Rel<Maker>
}

@Record({ softDelete: true })
class Token {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('decimal', { precision: 8, scale: 2 }) worth!: string
}

@Record
class Paper {
  @Field('id') id!: number
  @Field('blob') seal!: Uint8Array
  @Field('string', { list: true }) words!: string[]
  @Field('date') day!: string
}

@Record
class Lost {
  @Field('id') id!: number
}

const partCount = 300
const strange = [
  'plain',
  'with "quotes"',
  "it's",
  'back\\slash',
  '{braces,}',
  'Ägypten 🏺',
  'NULL',
  '',
]
const partName = (id: number): string => `Part ${id}`

/** A request that the test ends by `leave`. */
class TestRequest implements ClientReading {
  isOver = false
  readonly #ends: (() => void)[] = []

  onFinished(end: () => void): void {
    this.#ends.push(end)
  }

  abort(): void {
    this.isOver = true
    for (const end of this.#ends) end()
  }
}

/** @param open opens an engine on an empty database */
export function describeSharedReads(name: string, open: () => Promise<Engine>): void {
  describe(`short reads on ${name}`, () => {
    let watch: StatementRecorder
    let database: Database
    let tokens: Token[]

    beforeAll(async () => {
      watch = new StatementRecorder()
      const engine = watch.around(await open())
      const records = [Maker, Part, Token, Paper, Lost]
      database = await connect({ engine: { open: () => Promise.resolve(engine) }, records })
      await database.sync()
      await database.records(Maker).insertMany(strange.map((each) => ({ name: each })))
      const parts = Array.from({ length: partCount }, (_, n) => n + 1)
      await database
        .records(Part)
        .insertMany(parts.map((id) => ({ name: partName(id), makerId: (id % 8) + 1 })))
      const worths = ['1.50', '20.00', '300.25']
      tokens = await database.records(Token).createMany(worths.map((worth) => ({ worth })))
      // The first concurrent calls determine the types of a statement's values.
      await together(() => [1, 2, 3].map((id) => database.records(Part).find(id)))
      await together(() => tokens.map(({ id }) => database.records(Token).find(id)))
      await watch.settled()
    })
    afterAll(async () => database.close())

    /** Makes the other calls arrive while the first one is running. */
    const together = async <T>(call: () => readonly Promise<T>[]): Promise<T[]> => {
      const release = watch.hold()
      const calls = call()
      release()
      return Promise.all(calls)
    }
    const isJoined = (sql: string): boolean => sql.includes('filigree_call')

    it('a single read runs as its own statement', async () => {
      const statements = await watch.during(() => database.records(Part).find(7))
      expect(statements).toHaveLength(1)
      expect(isJoined(statements[0] ?? '')).toBe(false)
    })

    it('reads that arrive during another one share a statement, and each gets its own row', async () => {
      const ids = Array.from({ length: 64 }, (_, n) => ((n * 37) % (partCount + 20)) + 1)
      let found: (Row<Part> | null)[] = []
      const statements = await watch.during(async () => {
        found = await together(() => ids.map((id) => database.records(Part).find(id)))
      })
      expect(found.map((part) => part?.name)).toEqual(
        ids.map((id) => (id > partCount ? undefined : partName(id))),
      )
      expect(statements).toHaveLength(2)
      expect(statements.map(isJoined)).toEqual([false, true])
    })

    it('concurrent reads of random keys of several records get the right rows', async () => {
      const random = createRandom(4711)
      const loops = Array.from({ length: 40 }, async () => {
        for (let round = 0; round < 25; round++) {
          const id = Math.floor(random() * (partCount + 50)) + 1
          const token = tokens[Math.floor(random() * tokens.length)] as Token
          const maker = Math.floor(random() * strange.length)
          const [part, same, [foundMaker]] = await Promise.all([
            database.records(Part).find(id),
            database.records(Token).find(token.id),
            database.records(Maker).list({ where: { name: strange[maker] ?? '' } }),
          ])
          expect(part?.id ?? null).toBe(id > partCount ? null : id)
          expect(part?.name).toBe(id > partCount ? undefined : partName(id))
          expect(same).toEqual(token)
          expect(foundMaker?.id).toBe(maker + 1)
        }
      })
      const statements = await watch.during(() => Promise.all(loops))
      expect(statements.length).toBeLessThan(40 * 25 * 3)
      expect(statements.some(isJoined)).toBe(true)
    })

    it('each read of the same key gets its own object', async () => {
      const [one, other, third] = await together(() =>
        [5, 5, 5].map((id) => database.records(Part).find(id)),
      )
      expect(one).toEqual(other)
      expect(other).toEqual(third)
      expect(other).not.toBe(third)
    })

    it('reads with a relation share statements', async () => {
      await together(() =>
        [8, 9, 10].map((id) => database.records(Part).find(id, { with: ['maker'] })),
      )
      await watch.settled()
      const ids = [1, 2, 3, 11, 12, 13]
      const found = await together(() =>
        ids.map((id) => database.records(Part).find(id, { with: ['maker'] })),
      )
      expect(found.map((part) => part?.maker?.name)).toEqual(ids.map((id) => strange[id % 8]))
    })

    it('a read that fails does not affect the others', async () => {
      const makers = database.records(Maker)
      const names = ['plain', 'a\u0000b', "it's", 'nobody']
      const read = () => names.map((each) => makers.list({ where: { name: each } }))
      await together(() => [
        makers.list({ where: { name: 'x' } }),
        makers.list({ where: { name: 'y' } }),
      ])
      await watch.settled()
      const release = watch.hold()
      const first = makers.list({ where: { name: 'plain' } })
      const calls = Promise.allSettled(read())
      release()
      expect(await first).toHaveLength(1)
      const outcomes = await calls
      expect(outcomes.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'fulfilled',
      ])
      expect(outcomes[2]).toMatchObject({ value: [{ id: 3, name: "it's" }] })
      expect(outcomes[3]).toMatchObject({ value: [] })
    })

    it('a read sees everything that was committed before it arrived', async () => {
      const parts = database.records(Part)
      const release = watch.hold(isOfPart)
      const firstRead = parts.find(20)
      await parts.update(21, { name: 'changed' })
      const nextReads = [parts.find(21), parts.find(22)]
      release()
      expect((await firstRead)?.name).toBe(partName(20))
      expect((await Promise.all(nextReads)).map((part) => part?.name)).toEqual([
        'changed',
        partName(22),
      ])
      await parts.update(21, { name: partName(21) })
    })

    it('reads in a transaction run as their own statements, and see its writes', async () => {
      const parts = database.records(Part)
      await expect(
        database.transaction(async (tx) => {
          await tx.records(Part).update(30, { name: 'inside' })
          const statements = await watch.during(async () => {
            const found = await Promise.all([30, 31].map((id) => tx.records(Part).find(id)))
            expect(found.map((part) => part?.name)).toEqual(['inside', partName(31)])
          })
          expect(statements.filter(isJoined)).toEqual([])
          throw new Error('taken back')
        }),
      ).rejects.toThrow('taken back')
      const found = await together(() => [29, 30, 31].map((id) => parts.find(id)))
      expect(found.map((part) => part?.name)).toEqual([29, 30, 31].map(partName))
    })

    it('shared reads leave out rows that are soft-deleted', async () => {
      const deleted = await database.records(Token).create({ worth: '9.00' })
      await database.records(Token).delete(deleted.id)
      const ids = [...tokens.map(({ id }) => id), deleted.id]
      const found = await together(() => ids.map((id) => database.records(Token).find(id)))
      expect(found).toEqual([...tokens, null])
    })

    it('a request that is aborted does not affect the reads of the other requests', async () => {
      const requests = [new TestRequest(), new TestRequest(), new TestRequest()]
      const release = watch.hold()
      const first = database.records(Part).find(40)
      const calls = requests.map((each, n) => settle(database.recordsFor(Part, each).find(41 + n)))
      requests[1]?.abort()
      // An engine without fair shares for requests does not abort their statements.
      const abortsStatements = internalsOf(database).context.engine.requests.reads !== undefined
      if (abortsStatements) expect((await calls[1])?.error).toBeDefined()
      release()
      expect((await first)?.id).toBe(40)
      const outcomes = await Promise.all(calls)
      expect(outcomes.map(({ value }) => value?.id)).toEqual(
        abortsStatements ? [41, undefined, 43] : [41, 42, 43],
      )
    })

    it('a slow read does not delay the others', async () => {
      const parts = database.records(Part)
      const release = watch.hold(isOfPart, 1)
      let isAnswered = false
      const slow = parts.find(50).finally(() => (isAnswered = true))
      const fastReads = await Promise.all([51, 52, 53].map((id) => parts.find(id)))
      expect(fastReads.map((part) => part?.id)).toEqual([51, 52, 53])
      expect(isAnswered).toBe(false)
      release()
      expect((await slow)?.id).toBe(50)
    })

    it('equal counts that arrive during one share the next statement', async () => {
      const parts = database.records(Part)
      const count = (makerId: number) => parts.count({ makerId })
      let counted: number[] = []
      const statements = await watch.during(async () => {
        counted = await together(() => [1, 1, 1, 1, 2, 2, 3].map(count))
      })
      const partsOf = (maker: number): number =>
        Array.from({ length: partCount }, (_, n) => n + 1).filter((id) => (id % 8) + 1 === maker)
          .length
      expect(counted).toEqual([1, 1, 1, 1, 2, 2, 3].map(partsOf))
      // The first count of each maker, and one statement for the counts that arrived during it.
      expect(statements).toHaveLength(5)
      await parts.create({ name: 'one more', makerId: 3 })
      expect(await count(3)).toBe(partsOf(3) + 1)
      await parts.deleteWhere({ name: 'one more' })
    })

    it.each([[{}], [{ where: {} }]])(
      'small pages of a table share a statement, large ones run alone: %j',
      async (listOptions) => {
        const parts = database.records(Part)
        await together(() => [1, 2, 3].map((limit) => parts.list({ ...listOptions, limit })))
        await watch.settled()
        const limits = [5, 20, 1, 0, 200, 30, 3]
        let pages: Row<Part>[][] = []
        const statements = await watch.during(async () => {
          pages = await together(() => limits.map((limit) => parts.list({ ...listOptions, limit })))
        })
        expect(pages.map((page) => page.map(({ id }) => id))).toEqual(
          limits.map((limit) => Array.from({ length: limit }, (_, n) => n + 1)),
        )
        expect(statements.map(isJoined)).toEqual([false, false, true])
      },
    )

    it('equal lists that arrive during one share the next statement, and each gets its own objects', async () => {
      const parts = database.records(Part)
      const names = (makerId: number) =>
        parts.list({ where: { makerId }, orderBy: { name: 'desc' } })
      let lists: Row<Part>[][] = []
      const statements = await watch.during(async () => {
        lists = await together(() => [1, 1, 1, 2, 2, 1].map(names))
      })
      const alone = [await names(1), await names(2)]
      expect(lists).toEqual([1, 1, 1, 2, 2, 1].map((maker) => alone[maker - 1]))
      expect(alone.map(({ length }) => length)).toEqual([37, 38])
      // The first list of each maker, one for the lists that arrived during the first of maker 1, and the second of maker 2.
      expect(statements).toHaveLength(4)
      expect(lists[1]?.[0]).not.toBe(lists[2]?.[0])
      for (const part of lists[1] ?? []) part.name = 'changed'
      lists[1]?.pop()
      expect(lists[2]).toEqual(alone[0])
    })

    it('equal pages get the same rows of one statement', async () => {
      const parts = database.records(Part)
      await together(() => [1, 2, 3].map((limit) => parts.list({ limit })))
      await watch.settled()
      let pages: Row<Part>[][] = []
      const statements = await watch.during(async () => {
        pages = await together(() => [4, 7, 7, 2, 7, 2].map((limit) => parts.list({ limit })))
      })
      expect(pages.map(({ length }) => length)).toEqual([4, 7, 7, 2, 7, 2])
      expect(pages[1]).toEqual(pages[4])
      expect(pages[1]?.[0]).not.toBe(pages[4]?.[0])
      expect(statements.map(isJoined)).toEqual([false, true])
      const same = await watch.during(async () => {
        pages = await together(() => Array.from({ length: 64 }, () => parts.list({ limit: 20 })))
      })
      expect(pages.every((page) => page.length === 20)).toBe(true)
      expect(same.map(isJoined)).toEqual([false, false])
    })

    it('a list sees everything that was committed before it arrived', async () => {
      const parts = database.records(Part)
      const read = () => parts.list({ where: { makerId: 5 }, limit: 1, orderBy: { name: 'desc' } })
      const statements = await watch.during(async () => {
        const release = watch.hold(isOfPart)
        const firstRead = read()
        const added = await parts.create({ name: 'Part 999', makerId: 5 })
        const nextReads = [read(), read()]
        release()
        await firstRead
        for (const [part] of await Promise.all(nextReads)) expect(part?.name).toBe(added.name)
        await parts.delete(added.id)
      })
      // The later lists did not get the result of the running one.
      expect(statements.filter(isOfPart)).toHaveLength(2)
    })

    it('equal lists that fail share the failed statement', async () => {
      await database.kysely.schema.dropTable('lost').execute()
      const statements = await watch.during(async () => {
        const read = () => database.records(Lost).list({ limit: 200 })
        const calls = await together(() => Array.from({ length: 5 }, async () => settle(read())))
        expect(calls.map(({ error }) => error instanceof Error)).toEqual(Array(5).fill(true))
      })
      expect(statements).toHaveLength(2)
    })

    it('results share no bytes, lists or objects', async () => {
      const papers = database.records(Paper)
      const paper = await papers.create({
        seal: new Uint8Array([1, 2, 3]),
        words: ['a'],
        day: '2026-01-02',
      })
      const read = () => papers.list({ where: { day: '2026-01-02' } })
      const lists = await together(() => Array.from({ length: 5 }, read))
      for (const list of lists) expect(list).toEqual([paper])
      const [, second, third] = lists.map(([paper]) => paper)
      second?.seal.fill(9)
      second?.words.push('b')
      expect(third).toEqual(paper)
    })

    it('sessions and revocations are read in shared statements', async () => {
      const sessions = await createDatabaseSessionStore(database)
      const revocations = await createDatabaseRevocations(database)
      const now = Date.now()
      const names = Array.from({ length: 30 }, (_, n) => `name ${n}`)
      for (const each of names.slice(0, 20)) {
        await sessions.write(each, `{"user":"${each}"}`, now + 60_000, false)
        await revocations.add(each, now + 60_000)
      }
      const readAll = async (): Promise<void> => {
        const data = await together(() => names.map(async (each) => sessions.read(each, now)))
        expect(data).toEqual(names.map((each, n) => (n < 20 ? `{"user":"${each}"}` : undefined)))
        const deleted = await together(() =>
          names.map(async (each) =>
            revocations.has({ name: each, subject: undefined, signedIn: 0 }, now),
          ),
        )
        expect(deleted).toEqual(names.map((_, n) => n < 20))
        await watch.settled()
      }
      for (let round = 0; round < 2; round++) await readAll()
      // The framework's own statements are recorded only as a part of a shared one.
      const statements = await watch.during(readAll)
      for (const table of ['filigree_session', 'filigree_revocation'])
        expect(statements.some((sql) => isJoined(sql) && sql.includes(table))).toBe(true)
    })
  })
}

const isOfPart = (sql: string): boolean => sql.startsWith('select') && sql.includes('"part"')

async function settle<T>(promise: Promise<T>): Promise<{ value?: T; error?: unknown }> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
}
