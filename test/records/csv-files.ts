/** The CSV import and export from docs/records/writes.md, Streams and CSV. A test compares the page with this file. */
import { Field, type NewRow, Record, type Repository } from 'filigree'

@Record
export class Ware {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('numeric', { min: 0 }) price!: number
}

/** Takes CSV apart as it comes: cells in quotes may hold commas, quotes and line ends. */
async function* readCells(chunks: AsyncIterable<string>): AsyncGenerator<string[]> {
  let row: string[] = []
  let cell = ''
  let isQuoted = false
  let wasQuote = false
  for await (const chunk of chunks) {
    for (const sign of chunk) {
      if (sign === '"') {
        if (!isQuoted && wasQuote) cell += sign
        wasQuote = isQuoted
        isQuoted = !isQuoted
      } else if (isQuoted) cell += sign
      else {
        wasQuote = false
        if (sign === ',' || sign === '\n') {
          row.push(cell)
          cell = ''
        } else if (sign !== '\r') cell += sign
        if (sign === '\n') {
          yield row
          row = []
        }
      }
    }
  }
  if (cell !== '' || row.length > 0) yield [...row, cell]
}

async function* toWares(rows: AsyncIterable<string[]>): AsyncGenerator<NewRow<Ware>> {
  let isHead = true
  for await (const [name = '', price] of rows) {
    if (!isHead) yield { name: name.replace(/^'(?=[=+\-@\t\r])/, ''), price: Number(price) }
    isHead = false
  }
}

export const importWares = (wares: Repository<Ware>, chunks: AsyncIterable<string>) =>
  wares.insertMany(toWares(readCells(chunks)))

/** A sheet would run a text that begins like a formula; an apostrophe before it makes it text. */
function toCell(value: string | number): string {
  const text = typeof value === 'string' ? value.replace(/^[=+\-@\t\r]/, "'$&") : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export async function* exportWares(wares: Repository<Ware>): AsyncGenerator<string> {
  yield 'name,price\r\n'
  let after: { after?: string } = {}
  for (;;) {
    const page = await wares.list({ limit: 1000, ...after })
    for (const { name, price } of page) yield `${toCell(name)},${toCell(price)}\r\n`
    const last = page.at(-1)
    if (last === undefined || page.length < 1000) return
    after = { after: wares.cursorOf(last) }
  }
}
