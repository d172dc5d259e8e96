/** A script that reads from a SQLite file on behalf of clients and closes, several times. Argument: a folder. */
import { join } from 'node:path'
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Record as Table,
} from '../../src/index.js'

@NoAuth
@Table
class Note {
  @Field('id') id!: number
  @Field('text') text!: string
}

@Controller('/notes', { crud: Note })
class NoteController {}

@Module({ controllers: [NoteController], records: [Note] })
class NoteModule {}

const folder = process.argv[2] ?? ''
// Reads stop in the middle, and their threads are still busy at the end.
const limits = { rows: '1mb' }
for (let round = 0; round < 4; round++) {
  const database = `sqlite:${join(folder, `${round}.db`)}`
  const app = await bootstrap(NoteModule, {
    listen: false,
    logger: false,
    env: {},
    database,
    limits,
  })
  const rows = Array.from({ length: 100 }, () => ({ text: 'x'.repeat(300_000) }))
  await app.get(Database).records(Note).insertMany(rows)
  const urls = ['/notes?limit=1000', '/notes?limit=999', '/notes?limit=998']
  await Promise.all(urls.map((url) => app.inject({ url })))
  await app.close()
}
console.log('closed')
