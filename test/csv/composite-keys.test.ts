/** Imports and exports of records with keys that people give. Source: docs/csv.md. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  connect,
  exportRows,
  Field,
  importRows,
  ManyToMany,
  Record,
  type Database,
  type Rel,
} from 'filigree'
import { startBothEngines } from '../records/both-engines.js'

@Record({ key: ['country', 'code'] })
class Tag {
  @Field('string') country!: string
  @Field('string') code!: string
}

@Record({ key: ['orderId', 'line'] })
class OrderLine {
  @Field('integer') orderId!: number
  @Field('integer') line!: number
  @Field('string') product!: string
  @Field('string', { optional: true, nullable: true, unique: true }) serial?: string | null
  @ManyToMany(() => Tag) tags!: Rel<Tag[]>
}

@Record({ key: ['code'] })
class Unit {
  @Field('string') code!: string
  @Field('string') name!: string
}

describe.each(await startBothEngines())(
  'CSV files of records with given keys on %s',
  (_name, open) => {
    let database: Database
    beforeAll(async () => {
      database = await connect(await open(), { records: [Tag, OrderLine, Unit] })
      await database.sync()
    })
    afterAll(() => database.close())
    beforeEach(async () => {
      for (const line of await database.records(OrderLine).list({}))
        await database.records(OrderLine).delete(line)
      for (const tag of await database.records(Tag).list({}))
        await database.records(Tag).delete(tag)
      for (const unit of await database.records(Unit).list({}))
        await database.records(Unit).delete(unit)
      await database.records(OrderLine).create({ orderId: 1, line: 1, product: 'pen' })
      for (const [country, code] of [
        ['DE', 'a;b'],
        ['PL', 'new'],
      ] as const)
        await database.records(Tag).create({ country, code })
    })

    const lines = () => database.records(OrderLine)
    const importing = (file: string, check = false) => importRows(lines(), file, { check })
    const errorsOf = async (file: string, check: boolean) =>
      check
        ? (await importing(file, true)).errors
        : importing(file).then(
            () => [],
            (error: unknown) => (error as { errors: unknown[] }).errors,
          )

    it('change rows whose key exists, and create others', async () => {
      const file = 'orderId,line,product\n1,1,ink\n1,2,nib\n'
      expect(await importing(file, true)).toEqual({ rows: 2, errors: [] })
      expect(await lines().list({})).toMatchObject([{ product: 'pen' }])
      expect(await importing(file)).toEqual({ rows: 2, errors: [] })
      expect(await lines().list({ orderBy: 'line' })).toMatchObject([
        { line: 1, product: 'ink' },
        { line: 2, product: 'nib' },
      ])
      const units = database.records(Unit)
      await importRows(units, 'code,name\nkg,Kilo\n')
      await importRows(units, 'code,name\nkg,Kilogram\nm,Metre\n')
      expect(await units.list({})).toMatchObject([{ name: 'Kilogram' }, { name: 'Metre' }])
    })

    it.each([true, false])(
      'report the errors of keys and of unique values, check: %s',
      async (check) => {
        expect(await errorsOf('orderId,line,product\n2,1,a\n2,1,b\n', check)).toMatchObject([
          { row: 3, path: 'orderId', code: 'unique' },
          { row: 3, path: 'line', code: 'unique' },
        ])
        expect(await errorsOf('orderId,line,product\n2,,a\nx,1,b\n', check)).toMatchObject([
          { row: 2, path: 'line', code: 'required' },
          { row: 3, path: 'orderId', code: 'type' },
        ])
        const taken = await errorsOf('orderId,line,product,serial\n3,1,a,s\n3,2,b,s\n', check)
        expect(taken).toMatchObject([{ row: 3, path: 'serial', code: 'unique' }])
        expect(await lines().count()).toBe(1)
      },
    )

    it('link rows by a column for each field of their keys', async () => {
      const file = `orderId,line,tagIds.country,tagIds.code\n1,1,DE;PL,"[""a;b"",""new""]"\n`
      expect(await importing(file, true)).toEqual({ rows: 1, errors: [] })
      await importing(file)
      const [linked] = await lines().list({ with: ['tags'] })
      expect(linked?.tags).toMatchObject([{ code: 'a;b' }, { code: 'new' }])

      const chunks: string[] = []
      for await (const chunk of await exportRows(lines())) chunks.push(chunk)
      const exported = chunks.join('')
      expect(exported.split('\r\n')[0]).toBe(
        'orderId,line,product,serial,tagIds.country,tagIds.code',
      )
      expect(await importing(exported)).toEqual({ rows: 1, errors: [] })
      expect((await lines().list({ with: ['tags'] }))[0]?.tags).toHaveLength(2)

      await importing('orderId,line,tagIds.country,tagIds.code\n1,1,PL,new\n')
      expect((await lines().list({ with: ['tags'] }))[0]?.tags).toMatchObject([{ country: 'PL' }])
      await importing('orderId,line,tagIds.code,tagIds.country\n1,1,,\n')
      expect((await lines().list({ with: ['tags'] }))[0]?.tags).toEqual([])
    })

    it.each([true, false])('report links that do not fit, check: %s', async (check) => {
      const keys = { path: 'tagIds.country', code: 'keys' }
      expect(await errorsOf('orderId,line,tagIds.country\n1,1,DE\n', check)).toMatchObject([keys])
      expect(
        await errorsOf('orderId,line,tagIds.country,tagIds.code\n1,1,DE;PL,new\n', check),
      ).toMatchObject([keys])
      expect(
        await errorsOf('orderId,line,tagIds.country,tagIds.code\n1,1,DE,none\n', check),
      ).toMatchObject([{ row: 2, path: 'tagIds.country' }])
    })
  },
)
