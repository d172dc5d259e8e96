/** Reads a live query of a tested application, while nothing else keeps the process alive. */
import { Controller, Field, Module, NoAuth, Record } from 'filigree'
import { testApplication } from 'filigree/testing'

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

@Controller('/lamps', { crud: Lamp })
@NoAuth
class LampController {}

@Module({ records: [Lamp], controllers: [LampController] })
class LampModule {}

const desk = await testApplication(LampModule)
const ann = desk.as({ sub: '1' })
let count = 0
for await (const { data } of ann.events('/lamps')) {
  console.log(JSON.stringify(data))
  if (++count === 3) break
  await ann.post('/lamps', { name: `lamp ${count}` })
}
const unfinished = ann.events('/lamps')
await unfinished.next()
const ended = unfinished.next()
await desk.close()
console.log((await ended).done)
