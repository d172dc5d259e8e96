/** A record with a key of one field, or with KEY=two of two, on the database that DATABASE_URL names. */
import { connect, Field, Record } from '../../../dist/server/index.js'
import { answerCalls } from '../records/answer-calls.mjs'

/** Of as many columns as the other, so that a row costs the same. */
@Record({ table: 'one_key' })
class OneField {
  @Field('id') id!: number
  @Field('integer') place!: number
  @Field('string') name!: string
  @Field('integer') amount!: number
}

@Record({ table: 'two_keys', key: ['shelf', 'place'] })
class TwoFields {
  @Field('integer') shelf!: number
  @Field('integer') place!: number
  @Field('string') name!: string
  @Field('integer') amount!: number
}

const count = 10_000
const numbers = Array.from({ length: count }, (_, n) => n)
const database = await connect(process.env.DATABASE_URL, { records: [OneField, TwoFields] })
await database.sync()

function oneField() {
  const rows = database.records(OneField)
  const keyOf = (n: number) => (n % count) + 1
  return {
    fill: () =>
      rows.insertMany(
        numbers.map((n) => ({ id: keyOf(n), place: n % 100, name: `Lamp ${n}`, amount: 0 })),
      ),
    find: (n: number) => rows.find(keyOf(n)),
    update: (n: number) => rows.update(keyOf(n), { amount: n }),
  }
}

function twoFields() {
  const rows = database.records(TwoFields)
  // Neighbours in one call after the other, as keys of one field are.
  const keyOf = (n: number) => ({ shelf: Math.floor((n % count) / 100), place: n % 100 })
  return {
    fill: () =>
      rows.insertMany(numbers.map((n) => ({ ...keyOf(n), name: `Lamp ${n}`, amount: 0 }))),
    find: (n: number) => rows.find(keyOf(n)),
    update: (n: number) => rows.update(keyOf(n), { amount: n }),
  }
}

const { fill, find, update } = process.env.KEY === 'two' ? twoFields() : oneField()
await fill()
answerCalls({ find, update })
