/** Tables whose names look like the aliases in generated SQL. */
import { expect, it } from '@jest/globals'
import { BelongsTo, connect, Field, HasMany, Record, type Rel } from '../../src/index.js'

@Record({ table: 't0' })
class Box {
  @Field('id') id!: number
  @HasMany(() => Thing) things!: Rel<Thing[]>
}

@Record
class Thing {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer', { nullable: true }) boxId!: number | null
  @BelongsTo(() => Box, { onDelete: 'setNull' }) box!: Rel<Box>
}

it('deletes only related rows from a table whose name looks like an alias', async () => {
  const boxes = await connect('sqlite::memory:', { records: [Box, Thing] })
  await boxes.sync()
  const [one, other] = [await boxes.records(Box).create({}), await boxes.records(Box).create({})]
  await boxes.records(Thing).create({ name: 'lamp', boxId: one.id })
  expect(await boxes.records(Box).deleteWhere({ things: { name: 'lamp' } })).toBe(1)
  expect(await boxes.records(Box).list()).toMatchObject([{ id: other.id }])
  await boxes.close()
})
