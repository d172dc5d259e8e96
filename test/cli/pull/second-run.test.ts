/** A second run of `filigree pull`, after the database or the files have changed. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { connect } from '../../../src/index.js'
import { runSql } from '../../records/run-sql.js'
import { useFolder } from '../run-in.js'
import type { PullReport } from './check-pulled.js'

const place = useFolder()

const change = async (script: string): Promise<void> => {
  const database = await connect(`sqlite:${join(place.folder, 'shop.db')}`)
  await runSql(database, script)
  await database.close()
}
const pathOf = (file: string): string => join(place.folder, 'src/records', file)
const read = (file: string): Promise<string> => readFile(pathOf(file), 'utf8')
const edit = async (file: string, from: string | RegExp, to: string): Promise<void> => {
  const text = await read(file)
  expect(text).toMatch(from)
  await writeFile(pathOf(file), text.replace(from, to))
}
const pull = async (...args: string[]): Promise<PullReport & { code: number }> => {
  const { code, out, err } = await place.run('pull', 'shop.db', '--json', ...args)
  expect(err).toBe('')
  return { code, ...(JSON.parse(out) as PullReport) }
}

beforeEach(async () => {
  await change(`create table customers (id integer primary key, name varchar(40) not null);
    create table orders (id integer primary key, customer_id integer not null references customers, total real);`)
  expect(await pull()).toMatchObject({
    written: ['customer.ts', 'order.ts', 'index.ts'],
    differences: [],
  })
})

describe('filigree pull in a folder with records', () => {
  it('leaves files that people have changed, as long as they fit', async () => {
    await edit('customer.ts', 'import', '/** Our customers. */\nimport')
    await edit(
      'customer.ts',
      /@Field\('string'.*name!: string/,
      `
  @Field("text", {
    label: 'Full name', // for the admin page
    maxLength: 40,
    minLength: 2,
    column: "name",
  })
  @Secured('desk')
  fullName!: string`,
    )
    const text = await read('customer.ts')
    expect(await pull('--check')).toMatchObject({ code: 0, written: [], differences: [] })
    expect(await pull()).toMatchObject({ code: 0, written: [], differences: [] })
    expect(await read('customer.ts')).toBe(text)
  })

  it('keeps the name and the file of a class that people have renamed', async () => {
    await edit('customer.ts', '@Record(', `@Record<Client>(`)
    await edit('customer.ts', 'class Customer', 'class Client')
    await writeFile(pathOf('client.ts'), await read('customer.ts'))
    await writeFile(pathOf('customer.ts'), '')
    await change(
      'create table notes (id integer primary key, customer_id integer references customers)',
    )
    const { written, differences } = await pull()
    expect(written).toEqual(['note.ts', 'index.ts'])
    expect(differences).toContain(
      'order.ts: Order: it has no relation to Client, @BelongsTo(() => Client) customer.',
    )
    expect(await read('note.ts')).toContain("import { Client } from './client.js'")
    expect(await read('index.ts')).toContain("import { Client } from './client.js'")
  })

  it('writes new tables, and prints what differs in existing ones', async () => {
    await change(`create table notes (id integer primary key, text text);
      alter table customers add column age integer;
      alter table orders add column paid boolean not null default 0;
      alter table orders drop column total;`)
    const before = await read('order.ts')
    const first = await pull('--check')
    expect(first).toMatchObject({ code: 1, written: [] })
    expect(first.differences).toEqual([
      'note.ts: not written yet.',
      'index.ts: not written yet.',
      'customer.ts: customers.age: the class Customer has no field for it.',
      'order.ts: orders.paid: the class Order has no field for it.',
      'order.ts: Order.total: the table orders has no column total.',
    ])
    expect(await readdir(join(place.folder, 'src/records'))).not.toContain('note.ts')
    const second = await pull()
    expect(second).toMatchObject({ code: 0, written: ['note.ts', 'index.ts'] })
    expect(second.differences).toEqual(first.differences.slice(2))
    expect(await read('order.ts')).toBe(before)
    expect(await read('index.ts')).toContain("import { Note } from './note.js'")
  })

  it('replaces files that differ with --overwrite', async () => {
    await edit('order.ts', "'numeric'", "'string'")
    expect(await pull()).toMatchObject({
      written: [],
      differences: [
        "order.ts: Order.total: the kind is 'numeric' in the database, and 'string' in the file.",
      ],
    })
    expect(await pull('--overwrite')).toMatchObject({ written: ['order.ts'], differences: [] })
    expect(await pull('--check')).toMatchObject({ code: 0 })
  })

  it('names a table that the database no longer has, and never deletes its file', async () => {
    await change('drop table orders')
    expect((await pull('--check')).differences).toEqual([
      'order.ts: Order: the database has no table orders.',
    ])
    expect(await readdir(join(place.folder, 'src/records'))).toContain('order.ts')
  })

  it('does not replace a file that has no record of the table', async () => {
    await writeFile(pathOf('note.ts'), 'export const note = 1\n')
    await change('create table notes (id integer primary key)')
    expect(await pull()).toMatchObject({
      written: [],
      differences: [
        'note.ts: the file exists and has no record of the table notes (Note).',
        'index.ts: it does not export Note.',
      ],
    })
  })

  it('reads only some tables with --tables, and keeps the others in index.ts', async () => {
    await change(`create table notes (id integer primary key);
      create table notes_old (id integer primary key);`)
    expect(await pull('--tables', 'note*,!*_old')).toMatchObject({
      written: ['note.ts', 'index.ts'],
      tables: 1,
      differences: [],
    })
    expect(await read('index.ts')).toMatch(/Customer, Note, Order/)
    const { code, err } = await place.run('pull', 'shop.db', '--tables', 'nothing*')
    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringContaining('no table matches nothing*'),
    })
  })

  it('prints a report for people', async () => {
    await change('create table "strange name" (id integer primary key)')
    const { out } = await place.run('pull', 'shop.db')
    expect(out).toBe(`sqlite:${join(place.folder, 'shop.db')}: 2 tables, 5 columns.
Nothing was written.

Left out:
  strange name has a name that no record can have.
`)
  })

  it('rejects options that contradict each other', async () => {
    expect(await place.run('pull', 'shop.db', '--check', '--overwrite')).toMatchObject({ code: 2 })
    expect(await place.run('pull', 'shop.db', '--schema', 'public')).toMatchObject({
      code: 2,
      err: expect.stringContaining('SQLite has no schemas'),
    })
  })
})
