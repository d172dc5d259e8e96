/** Seats, whose key has two fields, in the database that SEATS_DATABASE names. */
import { Controller, Field, Module, NoAuth, Record } from '../../src/index.js'

@Record({ table: 'seat', key: ['hall', 'place'] })
@NoAuth
export class Seat {
  @Field('string') hall!: string
  @Field('integer') place!: number
  @Field('string') view!: string
}

@Controller('/seats', { crud: Seat })
@NoAuth
class SeatController {}

@Module({ controllers: [SeatController], records: [Seat] })
export class AppModule {}

export const options = {
  get database(): string {
    return process.env.SEATS_DATABASE ?? 'sqlite::memory:'
  },
}
