/** A record with rows of 60 months, with PARTITIONS=60 in a partition for each, on the database that DATABASE_URL names. */
import { connect, Field, Record } from '../../../dist/server/index.js'
import { answerCalls } from '../records/answer-calls.mjs'

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

const months = 60
const rowsOfMonth = 1000
const now = new Date()
const monthAt = (back: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)

const database = await connect(process.env.DATABASE_URL, {
  records: [PlainEvent, PartitionedEvent],
})
await database.sync()
await database.maintainPartitions({ from: new Date(monthAt(months - 1)).toISOString() })
const events = database.records(process.env.PARTITIONS === '60' ? PartitionedEvent : PlainEvent)
const ids: string[] = []
for (let back = months - 1; back >= 0; back--) {
  const rows = Array.from({ length: rowsOfMonth }, (_, index) => ({
    at: new Date(monthAt(back) + index).toISOString(),
    title: `Event ${index}`,
  }))
  ids.push(...(await events.createMany(rows)).map(({ id }) => id))
}
// Far from each other, so that calls at the same time are for different partitions.
const idAt = (n: number) => ids[(n * 7919) % ids.length] as string
answerCalls({
  find: (n: number) => events.find(idAt(n)),
  update: (n: number) => events.update(idAt(n), { title: `Changed ${n}` }),
})
