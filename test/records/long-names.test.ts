import { afterEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  Field,
  ManyToMany,
  Record,
  connect,
  type Database,
  type Rel,
} from '../../src/index.js'
import { startBothEngines } from './both-engines.js'
import type { Class } from '../public-types.js'

@Record
class Owner {
  @Field('id') id!: number
}

const long = 'a_table_with_a_name_of_forty_characters_'
const start = 'reference_that_begins_like_the_other_one'

/** References, checks and indexes whose names are equal in the first 63 bytes. */
@Record({ table: `${long}_one` })
class Long {
  @Field('id') id!: number
  @Field('integer', { column: `${start}_a` }) firstId!: number
  @Field('integer', { column: `${start}_b` }) secondId!: number
  @BelongsTo(() => Owner) first!: Rel<Owner>
  @BelongsTo(() => Owner) second!: Rel<Owner>
  @Field('integer', { column: `number_${start}_a`, min: 1, unique: true }) a!: number
  @Field('integer', { column: `number_${start}_b`, min: 1, unique: true }) b!: number
  @ManyToMany(() => Owner, { through: `${long}_owners`, from: `${start}_from`, to: `${start}_to` })
  owners!: Rel<Owner[]>
}

@Record({ table: `${long}_two` })
class Twin {
  @Field('id') id!: number
  @Field('integer', { column: `${start}_a` }) firstId!: number
  @BelongsTo(() => Owner, { onDelete: 'cascade' }) first!: Rel<Owner>
}

const opened: Database[] = []
afterEach(() => Promise.all(opened.splice(0).map((database) => database.close())))

describe.each(await startBothEngines())(
  'names longer than the database allows: %s',
  (_name, address) => {
    const open = async (url: string, ...records: Class[]): Promise<Database> => {
      const database = await connect(url, { records })
      opened.push(database)
      return database
    }

    it('are shortened to distinct names, and each violation names its field', async () => {
      const database = await open(await address(), Long, Twin, Owner)
      await database.sync()
      expect(await database.differences()).toEqual([])
      const owner = await database.records(Owner).create({})
      const row = { firstId: owner.id, secondId: owner.id, a: 1, b: 1 }
      const records = database.records(Long)
      await records.create(row)
      const pathOf = async (change: Partial<typeof row>): Promise<unknown> => {
        const values = { ...row, a: 2, b: 2, ...change }
        const error: unknown = await records.create(values).catch((reason: unknown) => reason)
        return (error as { errors?: readonly { path: string }[] }).errors?.[0]?.path
      }
      expect(await pathOf({ firstId: 99 })).toBe('firstId')
      expect(await pathOf({ secondId: 99 })).toBe('secondId')
      expect(await pathOf({ a: 1 })).toBe('a')
      expect(await pathOf({ b: 1 })).toBe('b')
      await expect(database.records(Owner).delete(owner.id)).rejects.toMatchObject({
        errors: [{ path: 'Long.firstId', code: 'reference' }],
      })
    })
  },
)
