/**
 * The start with many records that all lead to each other. Twice as many records may need about twice as much work, which
 * the reads of metadata measure.
 */
import { expect, it, jest } from '@jest/globals'
import { BelongsTo, bootstrap, Field, HasMany, Module, Record } from '../../src/index.js'
import type { Class } from '../public-types.js'

/** Each record belongs to the next one, and the last one to the first. */
function ringOfRecords(size: number): Class[] {
  const records: Class[] = []
  for (let index = 0; index < size; index++) {
    const type = { [`Link${index}`]: class {} }[`Link${index}`] as Class
    const { prototype } = type
    Field('id')(prototype, 'id')
    Field('integer')(prototype, 'nextId')
    BelongsTo(() => records[(index + 1) % size] as Class, { by: 'nextId' })(prototype, 'next')
    HasMany(() => records[(index + size - 1) % size] as Class, { by: 'nextId' })(prototype, 'all')
    Record(type)
    records.push(type)
  }
  return records
}

async function countReads(records: Class[]): Promise<number> {
  class World {}
  Module({ records })(World)
  const reads = [jest.spyOn(Reflect, 'getMetadata'), jest.spyOn(Reflect, 'getOwnMetadata')]
  try {
    const database = 'sqlite::memory:'
    const app = await bootstrap(World, { env: {}, database, logger: false, listen: false })
    await app.close()
    return reads.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
  } finally {
    jest.restoreAllMocks()
  }
}

it('reads the declarations of related records in linear time', async () => {
  const few = await countReads(ringOfRecords(20))
  const many = await countReads(ringOfRecords(40))
  expect(many / few).toBeLessThan(2.2)
})
