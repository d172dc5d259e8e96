/** Records that are partitioned by time: with a UUID key that begins with the time, and with the time in the key. */
import {
  BelongsTo,
  Field,
  HasMany,
  NoAuth,
  Record,
  type Generated,
  type Rel,
} from '../../src/index.js'

@Record({ partitionBy: { field: 'at', every: 'month', keep: '24mo' } })
@NoAuth
export class LogEvent {
  @Field('id', { key: 'uuid' }) id!: Generated<string>
  @Field('datetime', { default: 'now' }) at!: Generated<string>
  @Field('string') title!: string
  @HasMany(() => LogNote) notes!: Rel<LogNote[]>
}

@Record
@NoAuth
export class LogNote {
  @Field('id') id!: number
  @Field('string') text!: string
  @Field('uuid') logEventId!: string
  @BelongsTo(() => LogEvent, { onDelete: 'cascade' }) logEvent!: Rel<LogEvent>
}

@Record({ key: ['sensor', 'at'], partitionBy: { field: 'at', every: 'day' } })
@NoAuth
export class LogReading {
  @Field('string') sensor!: string
  @Field('datetime') at!: string
  @Field('numeric') value!: number
}

export const partitioned = [LogEvent, LogNote, LogReading]

/** Noon of a day of the current month, or of another one, in UTC. */
export function noonOf(day: number, months = 0): string {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, day, 12)).toISOString()
}
