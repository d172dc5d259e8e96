import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  connect,
  type Database,
  Field,
  type Generated,
  HttpError,
  Record,
  type Repository,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import { randomNumbers } from '../random.js'

@Record
class Part {
  @Field('id') id!: number
  @Field('string', { unique: true }) sku!: string
  @Field('string', { default: '' }) name!: Generated<string>
  @Field('string', { list: true, default: [] }) tags!: Generated<string[]>
  @Field('integer', { list: true, default: [] }) sizes!: Generated<number[]>
  @Field('json', { optional: true, nullable: true }) meta?: Meta | null
  @Field('integer', { default: 0, max: 50 }) stock!: Generated<number>
}

interface Meta {
  readonly a?: unknown
  readonly b?: { readonly c?: unknown }
  readonly list?: readonly unknown[]
}

type Next = (below: number) => number

function pick<T>(next: Next, items: readonly T[]): T {
  return items[next(items.length)] as T
}

const letters = ['a', 'A', 'b', '%', '_', '\\', 'é', '😀', ' ']
const textOf = (next: Next, maxLength: number): string =>
  Array.from({ length: next(maxLength + 1) }, () => pick(next, letters)).join('')
const scalarOf = (next: Next): unknown =>
  pick(next, [0, 1, 2.5, -3, 'a', 'ab', '1', true, false, null])

function partOf(next: Next): Partial<Part> {
  const meta: Meta = {
    ...(next(3) > 0 && { a: scalarOf(next) }),
    ...(next(3) > 0 && { b: next(4) === 0 ? {} : { c: scalarOf(next) } }),
    ...(next(2) > 0 && { list: [scalarOf(next), scalarOf(next)] }),
  }
  return {
    name: textOf(next, 5),
    tags: Array.from({ length: next(3) }, () => pick(next, ['red', 'blue', "it's", '"', ''])),
    sizes: Array.from({ length: next(3) }, () => next(4)),
    ...(next(4) > 0 && { meta: next(6) === 0 ? null : meta }),
    stock: next(10),
  }
}

/** A filter, and the same condition in plain JavaScript. */
interface Condition {
  readonly where: object
  readonly matches: (part: Part) => boolean
}

function conditionOf(next: Next, depth: number): Condition {
  const kind = next(depth > 0 ? 9 : 6)
  if (kind === 6) {
    const inner = conditionOf(next, depth - 1)
    return { where: { not: inner.where }, matches: (part) => !inner.matches(part) }
  }
  if (kind > 6) {
    const parts = Array.from({ length: next(3) }, () => conditionOf(next, depth - 1))
    const where = { [kind === 7 ? 'and' : 'or']: parts.map((part) => part.where) }
    return {
      where,
      matches: (row) =>
        kind === 7
          ? parts.every(({ matches }) => matches(row))
          : parts.some(({ matches }) => matches(row)),
    }
  }
  if (kind < 3) {
    const operator = pick(next, ['startsWith', 'endsWith', 'contains'] as const)
    const text = textOf(next, 2)
    const test = { startsWith: 'startsWith', endsWith: 'endsWith', contains: 'includes' } as const
    return {
      where: { name: { [operator]: text } },
      matches: ({ name }) => name[test[operator]](text),
    }
  }
  if (kind === 3) {
    const tag = pick(next, ['red', 'blue', "it's", '"', '', 'none'])
    return { where: { tags: { has: tag } }, matches: ({ tags }) => tags.includes(tag) }
  }
  if (kind === 4) {
    const size = next(5)
    return { where: { sizes: { has: size } }, matches: ({ sizes }) => sizes.includes(size) }
  }
  return placeOf(next)
}

function placeOf(next: Next): Condition {
  const path = pick(next, [['a'], ['b', 'c'], ['list', '0'], ['list', 1], ['none']])
  const at = ({ meta }: Part): unknown =>
    path.reduce<unknown>((value, name) => (value as Meta | null | undefined)?.[name as never], meta)
  const operator = pick(next, ['eq', 'gt', 'lte', 'contains', 'isNull'] as const)
  if (operator === 'isNull') {
    const isNull = next(2) === 0
    const matches = (part: Part): boolean => ((at(part) ?? null) === null) === isNull
    return { where: { meta: { path, isNull } }, matches }
  }
  const operand =
    operator === 'contains'
      ? pick(next, ['a', 'b', ''])
      : pick<unknown>(next, operator === 'eq' ? [1, 2.5, 'a', true, false] : [0, 1, 2.5, 'a', 'aa'])
  const matches = (part: Part): boolean => {
    const value = at(part)
    if (typeof value !== typeof operand) return false
    if (operator === 'eq') return value === operand
    if (operator === 'contains') return (value as string).includes(operand as string)
    return operator === 'gt'
      ? (value as number) > (operand as number)
      : (value as number) <= (operand as number)
  }
  return { where: { meta: { path, [operator]: operand } }, matches }
}

describe.each(await startBothEngines())('random queries: %s', (_name, open) => {
  let database: Database
  let parts: Repository<Part>
  beforeAll(async () => {
    database = await connect(await open(), { records: [Part] })
    await database.sync()
    parts = database.records(Part)
  })
  afterAll(() => database.close())

  it('startsWith, endsWith, contains, has and path match a reference implementation, 400 times', async () => {
    const next = randomNumbers(21)
    await parts.deleteWhere({})
    await parts.insertMany(
      Array.from({ length: 150 }, (_, index) => ({ sku: `s${index}`, ...partOf(next) })),
    )
    const all = await parts.list()
    for (let iteration = 0; iteration < 400; iteration++) {
      const { where, matches } = conditionOf(next, 2)
      const found = (await parts.list({ where })).map(({ id }) => id)
      const expected = all.filter(matches).map(({ id }) => id)
      expect([JSON.stringify(where), found]).toEqual([JSON.stringify(where), expected])
      expect(await parts.count(where)).toBe(expected.length)
    }
  })

  it('bulk and single writes match a reference implementation, 300 times', async () => {
    const next = randomNumbers(33)
    await parts.deleteWhere({})
    const expectedParts = new Map<number, Part>()
    const skus = Array.from({ length: 12 }, (_, index) => `sku ${index}`)
    const bySku = (sku: string) => [...expectedParts.values()].find((part) => part.sku === sku)
    /** An existing id, or one that never existed. */
    const someId = (): number => pick(next, [...expectedParts.keys(), 0, 1_000_000])
    const store = (part: Part): void => {
      expectedParts.set(part.id, part)
    }
    const statusOf = (work: Promise<unknown>): Promise<number> =>
      work.then(
        () => 200,
        (error: unknown) => (error as HttpError).status,
      )
    const steps: readonly (() => Promise<void>)[] = [
      async () => {
        const values = { sku: pick(next, skus), ...(next(2) === 0 ? {} : partOf(next)) }
        const before = bySku(values.sku)
        const after = await parts.upsert(values, { by: 'sku' })
        expect(after).toMatchObject(Object.assign({}, before, values))
        store(after)
      },
      async () => {
        const rows = Array.from({ length: 1 + next(3) }, () => ({
          sku: pick(next, skus),
          ...partOf(next),
        }))
        const names = rows.map(({ sku }) => sku)
        const hasDuplicates = new Set(names).size < names.length || names.some((sku) => bySku(sku))
        if (hasDuplicates) {
          expect(await statusOf(parts.createMany(rows))).toBe(409)
          return
        }
        const created = await parts.createMany(rows)
        expect(created).toMatchObject(rows)
        created.forEach(store)
      },
      async () => {
        const ids = [...new Set([someId(), someId()])]
        const rows = ids.map((id) => ({ id, stock: next(60) }))
        if (rows.some(({ stock }) => stock > 50)) {
          expect([400, 404]).toContain(await statusOf(parts.updateMany(rows)))
          return
        }
        if (ids.some((id) => !expectedParts.has(id))) {
          expect(await statusOf(parts.updateMany(rows))).toBe(404)
          return
        }
        const changed = await parts.updateMany(rows)
        expect(changed).toEqual(
          rows.map((row) => Object.assign(new Part(), expectedParts.get(row.id), row)),
        )
        changed.forEach(store)
      },
      async () => {
        const ids = Array.from({ length: next(3) }, someId)
        const deletedIds = new Set(ids.filter((id) => expectedParts.has(id)))
        expect(await parts.deleteMany(ids)).toBe(deletedIds.size)
        for (const id of deletedIds) expectedParts.delete(id)
      },
      async () => {
        const { where, matches } = conditionOf(next, 1)
        const matching = [...expectedParts.values()].filter(matches)
        const tooMany = matching.some(({ stock }) => stock + 7 > 50)
        const work = parts.updateWhere(where, { stock: { add: 7 } })
        if (tooMany) {
          expect(await statusOf(work)).toBe(400)
          return
        }
        expect(await work).toBe(matching.length)
        for (const part of matching)
          store(Object.assign(new Part(), part, { stock: part.stock + 7 }))
      },
      async () => {
        const { where, matches } = conditionOf(next, 2)
        const matching = [...expectedParts.values()].filter(
          (part) => part.stock > 3 && matches(part),
        )
        expect(await parts.deleteWhere({ and: [where, { stock: { gt: 3 } }] })).toBe(
          matching.length,
        )
        for (const { id } of matching) expectedParts.delete(id)
      },
    ]
    for (let iteration = 0; iteration < 300; iteration++) {
      // The last steps delete many rows, so they run less often.
      await pick(next, next(4) === 0 ? steps : steps.slice(0, 4))()
      const expected = [...expectedParts.values()].sort((a, b) => a.id - b.id)
      expect(await parts.list()).toEqual(expected)
    }
  })
})
