/** Events found and changed by key without HTTP, on the database that DATABASE_URL names. */
import { connect } from '../../../dist/server/index.js'
import { answerCalls } from '../records/answer-calls.mjs'
import { Event, writeEvents } from './events.mjs'

const database = await connect(process.env.DATABASE_URL, { records: [Event] })
await database.sync()
const ids = await writeEvents(database)
const events = database.records(Event)
const idAt = (n: number) => ids[n % ids.length] as string
answerCalls({
  find: (n: number) => events.find(idAt(n)),
  update: (n: number) => events.update(idAt(n), { title: `Changed ${n}` }),
})
