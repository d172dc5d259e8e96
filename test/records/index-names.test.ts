/** Two indexes that would get the same name in the database are reported at the start. */
import { describe, expect, it } from '@jest/globals'
import { BelongsTo, Field, HasMany, ManyToMany, Record, connect, type Rel } from 'filigree'

@Record
class Owner {
  @Field('id') id!: number
}

/** `order` with the column `item_name`. */
@Record({ table: 'order' })
class Order {
  @Field('id') id!: number
  @Field('string', { unique: true }) itemName!: string
}

/** `order_item` with the column `name`. */
@Record
class OrderItem {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
}

/** SQLite compares names without case. */
@Record({ table: 'Order_Item' })
class UpperItem {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
}

@Record
class Grouped {
  @Field('id') id!: number
  @Field('string', { unique: 'first' }) a!: string
  @Field('string', { unique: 'first' }) bC!: string
  @Field('string', { unique: 'second' }) aB!: string
  @Field('string', { unique: 'second' }) c!: string
}

@Record({ indexes: [{ fields: ['a', 'bC'] }, { fields: ['aB', 'c'] }] })
class Listed {
  @Field('id') id!: number
  @Field('string') a!: string
  @Field('string') bC!: string
  @Field('string') aB!: string
  @Field('string') c!: string
}

@Record({ indexes: [{ fields: ['-name'] }, { fields: ['nameDesc'] }] })
class Descending {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('string') nameDesc!: string
}

@Record({ table: 'team_name_key' })
class TableAsIndex {
  @Field('id') id!: number
}

@Record
class Team {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
}

/** A one-to-many relation over a plain field. Its index is `shelf_row_id_index`. */
@Record
class Shelf {
  @Field('id') id!: number
  @Field('integer') rowId!: number
}

@Record
class Row {
  @Field('id') id!: number
  @HasMany(() => Shelf) shelves!: Rel<Shelf[]>
}

@Record({ table: 'shelf_row_id_index' })
class ListedAsTable {
  @Field('id') id!: number
}

/** The join table `tagged_owner` with its index `tagged_owner_owner_id_index`. */
@Record
class Tagged {
  @Field('id') id!: number
  @ManyToMany(() => Owner, { through: 'tagged_owner' }) owners!: Rel<Owner[]>
  @Field('string', { column: 'owner_owner_id', index: true }) code!: string
}

/** No collision: the reference and the listed indexes share one index. */
@Record({ indexes: [{ fields: ['ownerId'] }, { fields: ['ownerId'] }] })
class Referring {
  @Field('id') id!: number
  @Field('integer', { index: true }) ownerId!: number
  @BelongsTo(() => Owner) owner!: Rel<Owner>
}

const open = (...records: (new () => object)[]) => connect('sqlite::memory:', { records })

describe('indexes with the same name', () => {
  it.each([
    ['of two records', [Order, OrderItem], 'order_item_name_key'],
    ['of names that differ in case', [Order, UpperItem], 'Order_Item_name_key'],
    ['of two groups of fields', [Grouped], 'grouped_a_b_c_key'],
    ['of two indexes of a record', [Listed], 'listed_a_b_c_index'],
    ['of two orders', [Descending], 'descending_name_desc_index'],
    ['of a table and an index', [TableAsIndex, Team], 'team_name_key'],
    ['of a table and the index of a list', [Shelf, Row, ListedAsTable], 'shelf_row_id_index'],
    ['of a join table and a field', [Tagged], 'tagged_owner_owner_id_index'],
  ])('%s fail the start', async (_what, records, name) => {
    await expect(open(...records)).rejects.toMatchObject({
      problems: [
        {
          code: 'RECORD_INDEX',
          message: expect.stringContaining(`would both be called "${name}" in the database.`),
        },
      ],
    })
  })

  it('are both named in the error, with a fix', async () => {
    await expect(open(Order, OrderItem)).rejects.toThrow(
      'The index of OrderItem over name and the index of Order over itemName would both be called "order_item_name_key" in the database.',
    )
  })

  it('are one index if they are equal', async () => {
    const database = await open(Referring, Owner)
    await database.sync()
    expect(await database.differences()).toEqual([])
    await database.close()
  })
})
