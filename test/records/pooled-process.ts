/**
 * Reads, writes and deletes rows of its own, in an order of its own, and says what was not as it should be. Two of them
 * share the server connections of a pooler. Bundled by `creating-program.ts`.
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

const [, , url = '', owner = '', rounds = '0'] = process.argv
const database = await connect(url, { records: [Entry] })
const entries = database.records(Entry)
const faults: string[] = []

function expectSame(what: string, actual: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (a !== b) faults.push(`${owner}, ${what}: ${a} where ${b} belongs`)
}

/** What can be done to a row of one's own; the first of them differs from process to process. */
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
        throw new RangeError('taken back')
      })
      .catch((error: unknown) => {
        if (!(error instanceof RangeError)) throw error
      })
  },
]
if (owner === 'b') steps.reverse()

async function work(): Promise<void> {
  const row = await entries.create({ owner, number: 0 })
  for (let round = 0; round < Number(rounds); round++) {
    for (const step of steps) {
      await step(row).catch((error: unknown) => faults.push(`${owner}: ${String(error)}`))
    }
  }
}

await Promise.all(Array.from({ length: 6 }, work))
expectSame('rows', await entries.count({ owner }), 6)
await database.close()
process.stdout.write(JSON.stringify(faults))
