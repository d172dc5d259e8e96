/** `@Record({ indexes: [{ unique: true }] })`: among the rows that the index has. */
import { expect, it } from '@jest/globals'
import { connect, Field, Record } from 'filigree'

@Record({
  softDelete: true,
  indexes: [{ fields: ['desk'], where: { open: true }, unique: true }],
})
class Shift {
  @Field('id') id!: number
  @Field('string') desk!: string
  @Field('boolean') open!: boolean
}

it('a unique index holds for the rows of its where, and not for deleted ones', async () => {
  await using database = await connect('sqlite::memory:', { records: [Shift] })
  await database.sync()
  expect(await database.differences()).toEqual([])
  const shifts = database.records(Shift)
  await shifts.create({ desk: 'a', open: false })
  await shifts.create({ desk: 'a', open: false })
  const open = await shifts.create({ desk: 'a', open: true })
  await expect(shifts.create({ desk: 'a', open: true })).rejects.toThrow('desk')
  await shifts.delete(open.id)
  await shifts.create({ desk: 'a', open: true })
  expect(await shifts.count()).toBe(3)
})
