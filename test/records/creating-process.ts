/** Creates rows until it is killed, and prints the number of each stored row. Bundled by `bundle-program.ts`. */
import { connect, Field, Record } from '../../src/index.js'

class Entry {
  declare id: number
  declare number: number
}
Field('id')(Entry.prototype, 'id')
Field('integer', { unique: true })(Entry.prototype, 'number')
Record()(Entry)

const [, , url = '', first = '0'] = process.argv
const database = await connect(url, { records: [Entry] })
await database.sync()
const entries = database.records(Entry)
for (let number = Number(first); ; number++) {
  await entries.create({ number })
  process.stdout.write(`${number}\n`)
}
