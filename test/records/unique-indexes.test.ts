/** `@Record({ indexes: [{ unique: true }] })` with a condition. */
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

it('a unique index applies only to rows that match its where and are not deleted', async () => {
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
