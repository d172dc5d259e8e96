/** A shop whose database lies where SHOP_DATABASE says. */
import { Controller, Field, Get, Module, NoAuth, Record, Secured } from '../../../src/index.js'

@Record
@NoAuth
export class Lamp {
  @Field('id') id!: number
  @Field('string') color!: string
  @Field('string', { index: true }) name!: string
  @Field('integer') height!: number
}

@Controller('/lamps', { crud: Lamp })
@NoAuth
export class Lamps {}

@Controller('/stock')
export class Stock {
  @Get('/')
  @Secured
  list(): string[] {
    return []
  }
}

@Module({ controllers: [Lamps, Stock], records: [Lamp] })
export class AppModule {}

export const options = {
  get database(): string {
    return process.env.SHOP_DATABASE ?? 'sqlite::memory:'
  },
}
