/** The stream of a CSV file from docs/csv.md, Rows of your own. A test compares the page with this file. */
import { Field, HttpError, type NewRow, readCsv, Record, type Repository } from 'filigree'
import type { Readable } from 'node:stream'

@Record
export class Ware {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('numeric', { min: 0 }) price!: number
}

async function* toWares(file: Readable): AsyncGenerator<NewRow<Ware>> {
  for await (const { row, cells } of readCsv(file)) {
    const [name = '', price = ''] = cells
    if (row === 1) continue
    if (!/^\d+([.,]\d+)?$/.test(price))
      throw new HttpError(400, `Row ${row}: ${price} is no price.`)
    yield { name, price: Number(price.replace(',', '.')) }
  }
}

export const importWares = (wares: Repository<Ware>, file: Readable) =>
  wares.insertMany(toWares(file))
