/** The same events in one table and in 60 partitions, each with rows of 60 months. */
import { type Database, Field, Record } from '../../../dist/server/index.js'

@Record({ table: 'plain_event' })
class PlainEvent {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('datetime') at!: string
  @Field('string') title!: string
}

@Record({ table: 'partitioned_event', partitionBy: { field: 'at', every: 'month' } })
class PartitionedEvent {
  @Field('id', { key: 'uuid' }) id!: string
  @Field('datetime') at!: string
  @Field('string') title!: string
}

/** The record that PARTITIONS chooses. */
export const Event = process.env.PARTITIONS === '60' ? PartitionedEvent : PlainEvent

const months = 60
const rowsOfMonth = 1000
const now = new Date()
const monthAt = (back: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)

/** Writes the events. @returns their keys, so that those behind each other are of different partitions */
export async function writeEvents(database: Database): Promise<string[]> {
  await database.maintainPartitions({ from: new Date(monthAt(months - 1)).toISOString() })
  const ids: string[] = []
  for (let back = months - 1; back >= 0; back--) {
    const rows = Array.from({ length: rowsOfMonth }, (_, index) => ({
      at: new Date(monthAt(back) + index).toISOString(),
      title: `Event ${index}`,
    }))
    ids.push(...(await database.records(Event).createMany(rows)).map(({ id }) => id))
  }
  return ids.map((_, index) => ids[(index * 7919) % ids.length] as string)
}
