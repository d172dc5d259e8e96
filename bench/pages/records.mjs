/**
 * A project with many records, each with relations to its neighbours and a service that reads, writes and sums rows: what an
 * editor checks while its author types.
 */

/** @param count the number of records */
export const writeRecords = (count) => ({
  ...Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `records/item${index}.ts`,
      declareRecord(index, (index + 1) % count, (index + count - 1) % count),
    ]),
  ),
  'page.ts': `${Array.from({ length: count }, (_, index) => `export * from './records/item${index}.js'`).join('\n')}\n`,
})

const declareRecord = (index, next, previous) => `
import { BelongsTo, Field, HasMany, Record, type Generated, type Rel, type Repository } from 'filigree'
import { Item${next} } from './item${next}.js'
import { Item${previous} } from './item${previous}.js'

@Record({ timestamps: true })
export class Item${index} {
  @Field('id') id!: number
  @Field('string', { maxLength: 80 }) name!: string
  @Field('string', { oneOf: ['open', 'closed'], default: 'open' }) status!: Generated<'open' | 'closed'>
  @Field('integer', { min: 0 }) stock!: number
  @Field('numeric', { min: 0 }) price!: number
  @Field('datetime', { nullable: true }) soldAt!: string | null
  @Field('integer') item${next}Id!: number
  @BelongsTo(() => Item${next}) item${next}!: Rel<Item${next}>
  @HasMany(() => Item${previous}) item${previous}s!: Rel<Item${previous}[]>
  createdAt!: string

  get isFree(): boolean {
    return this.stock > 0 && this.status === 'open'
  }
}

export class Items${index} {
  constructor(private readonly items: Repository<Item${index}>) {}

  list(name: string, all: boolean) {
    return this.items.list({ where: { name: { like: name }, stock: { gte: all ? 0 : 1 } }, orderBy: { price: 'desc' }, limit: 20 })
  }
  async show(id: number) {
    const item = await this.items.find(id, { with: ['item${next}'] })
    return item === null ? null : { name: item.name, isFree: item.isFree, next: item.item${next}?.name }
  }
  async deep() {
    const items = await this.items.list({ with: ['item${previous}s', 'item${next}.item${(next + 1) % 200}'], counts: ['item${previous}s'] })
    return items.map((item) => ({ ...item, count: item.item${previous}sCount, first: item.item${previous}s[0]?.status }))
  }
  add(name: string) {
    return this.items.create({ name, stock: 1, price: 5, soldAt: null, item${next}Id: 1 })
  }
  sell(id: number) {
    return this.items.update(id, { stock: { add: -1 } }, { where: { status: 'open' } })
  }
  sums() {
    return this.items.aggregate({ groupBy: ['status'], sum: ['price'], having: { count: { gte: 2 } } })
  }
}
`
