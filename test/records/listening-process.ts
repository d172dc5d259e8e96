/** Listens to several records concurrently, then to other ones, and prints the process warnings. Bundled by `bundle-program.ts`. */
import { Field, Record, connect } from '../../src/index.js'
import { internalsOf } from './open-database.js'

const warnings: string[] = []
process.on('warning', ({ message }) => warnings.push(message))

class One {}
class Two {}
class Three {}
class Four {}
class Five {}
const records = [One, Two, Three, Four, Five]
for (const type of records) {
  Field('id')(type.prototype, 'id')
  Record()(type)
}

const database = await connect(process.argv[2] ?? '', { records })
await database.sync()
const listen = (type: object): Promise<() => void> =>
  internalsOf(database).watch(type as never, {
    onChanges: () => undefined,
    end: () => undefined,
    columns: [],
  })
const stops = await Promise.all([One, Two, Three, Four].map(listen))
for (const stop of stops) stop()
await Promise.all([One, Five].map(listen))
await database.close()
process.stdout.write(JSON.stringify(warnings))
