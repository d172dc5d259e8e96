/**
 * Reads, writes and deletes its own rows, and prints every unexpected result. Two of these processes share the server
 * connections of a pooler. Bundled by `bundle-program.ts`.
 */
import { connect, Field, Record } from '../../src/index.js'

class Entry {
  declare id: number
  declare owner: string
  declare number: number
}
Field('id')(Entry.prototype, 'id')
Field('string')(Entry.prototype, 'owner')
Field('integer')(Entry.prototype, 'number')
Record()(Entry)

const [, , url = '', owner = '', iterations = '0'] = process.argv
const database = await connect(url, { records: [Entry] })
const entries = database.records(Entry)
const failures: string[] = []

function expectSame(operation: string, actual: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (a !== b) failures.push(`${owner}, ${operation}: ${a} where ${b} was expected`)
}

/** Operations on one row. The order differs between the two processes. */
const steps: ((row: Entry) => Promise<void>)[] = [
  async (row) => {
    expectSame('find', await entries.find(row.id), row)
  },
  async (row) => {
    const changed = await database.transaction(async (tx) => {
      const found = await tx.records(Entry).find(row.id)
      return tx.records(Entry).update(row.id, { number: (found?.number ?? 0) + 1 })
    })
    expectSame('update in a transaction', changed, Object.assign(row, { number: row.number + 1 }))
  },
  async (row) => {
    const rows = await entries.list({ where: { owner, id: row.id } })
    expectSame('list', rows, [row])
  },
  async ({ number }) => {
    const other = await entries.create({ owner, number })
    expectSame('delete', await entries.delete(other.id), true)
    expectSame('find a deleted one', await entries.find(other.id), null)
  },
  async (row) => {
    await database
      .transaction(async (tx) => {
        await tx.records(Entry).delete(row.id)
        throw new RangeError('rolled back')
      })
      .catch((error: unknown) => {
        if (!(error instanceof RangeError)) throw error
      })
  },
]
if (owner === 'b') steps.reverse()

async function work(): Promise<void> {
  const row = await entries.create({ owner, number: 0 })
  for (let iteration = 0; iteration < Number(iterations); iteration++) {
    for (const step of steps) {
      await step(row).catch((error: unknown) => failures.push(`${owner}: ${String(error)}`))
    }
  }
}

await Promise.all(Array.from({ length: 6 }, work))
expectSame('rows', await entries.count({ owner }), 6)
await database.close()
process.stdout.write(JSON.stringify(failures))
