/** An application for scripts: a record, its routes, and a provider that starts. */
import { Controller, Field, Module, Record } from '../../src/index.js'

@Record
export class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

export class Shelf {
  state = 'new'
  onStart(): void {
    this.state = 'started'
  }
}

@Controller('/lamps', { crud: Lamp })
class LampController {}

@Module({ controllers: [LampController], records: [Lamp], providers: [Shelf] })
export class AppModule {}
