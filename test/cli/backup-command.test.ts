/** A copy of a database in use, restored. Source: docs/production.md, Backups. */
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { watchCopy } from '../../src/cli/commands/backup.js'
import { connect, Field, Record, type Database } from '../../src/index.js'
import { runIn, type Outcome } from './run-in.js'

@Record
class Note {
  @Field('id') id!: number
  @Field('string') text!: string
}

let folder: string
const before = process.env.DATABASE_URL
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-backup-'))
})
afterEach(() => {
  if (before === undefined) delete process.env.DATABASE_URL
  else process.env.DATABASE_URL = before
})
afterAll(() => rm(folder, { recursive: true }))

const backup = (...args: string[]): Promise<Outcome> => runIn(folder, ['backup', ...args])

const open = (file: string): Promise<Database> =>
  connect(`sqlite:${join(folder, file)}`, { records: [Note] })

describe('filigree backup', () => {
  it('copies a database in use, with everything that was committed before', async () => {
    await using database = await open('app.db')
    await database.sync()
    const notes = database.records(Note)
    await notes.insertMany(Array.from({ length: 5000 }, (_, number) => ({ text: `n${number}` })))
    process.env.DATABASE_URL = `sqlite:${join(folder, 'app.db')}`
    // A writer is active, and its open transaction is not in the copy.
    const done = await database.transaction(async (tx) => {
      await tx.records(Note).create({ text: 'not committed' })
      return await backup('copies/to.db')
    })
    expect(done).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringMatching(/to\.db: [\d.]+ kB, copied and checked in [\d.]+ m?s\./),
    })
    expect(await readdir(join(folder, 'copies'))).toEqual(['to.db'])
    await notes.create({ text: 'later' })
    await copyFile(join(folder, 'copies/to.db'), join(folder, 'restored.db'))
    await using restored = await open('restored.db')
    await restored.sync()
    expect(await restored.records(Note).count()).toBe(5000)
    expect((await restored.records(Note).create({ text: 'goes on' })).id).toBeGreaterThan(5000)
  })

  it('replaces an earlier copy', async () => {
    await using database = await open('again.db')
    await database.sync()
    process.env.DATABASE_URL = `sqlite:${join(folder, 'again.db')}`
    expect((await backup('again-to.db')).code).toBe(0)
    await database.records(Note).create({ text: 'one' })
    expect((await backup('again-to.db')).code).toBe(0)
    await using copy = await open('again-to.db')
    expect(await copy.records(Note).count()).toBe(1)
  })

  it('prints the backup program of a server, without the password', async () => {
    process.env.DATABASE_URL = 'postgres://desk:secret@127.0.0.1:1/desk'
    const { code, err } = await backup('to.db')
    expect(code).toBe(1)
    expect(err).toContain('pg_dump')
    expect(err).not.toContain('secret')
  })

  it('refuses the database itself, a folder, and a missing database', async () => {
    await (await open('self.db')).close()
    process.env.DATABASE_URL = `sqlite:${join(folder, 'self.db')}`
    expect(await backup('self.db')).toMatchObject({
      code: 1,
      err: expect.stringContaining('the database itself'),
    })
    expect((await backup('.')).code).toBe(2)
    expect((await backup()).code).toBe(2)
    process.env.DATABASE_URL = `sqlite:${join(folder, 'nowhere.db')}`
    expect((await backup('to-nowhere.db')).code).toBe(1)
    expect(['nowhere.db', 'to-nowhere.db'].some((file) => existsSync(join(folder, file)))).toBe(
      false,
    )
  })
})

describe('the progress of a copy', () => {
  it('shows the percentage while this thread is blocked', async () => {
    const [file, log] = [join(folder, 'half.part'), join(folder, 'progress.txt')]
    const output = openSync(log, 'w')
    const stop = await watchCopy(file, 1000, output)
    // Blocks the thread, as SQLite does.
    const waitFor = (text: string): void => {
      const deadline = Date.now() + 20_000
      while (!readFileSync(log, 'utf8').includes(text))
        if (Date.now() > deadline) throw new Error(`"${text}" was not shown.`)
    }
    waitFor('0 % copied')
    writeFileSync(file, 'x'.repeat(420))
    waitFor('42 % copied')
    writeFileSync(file, 'x'.repeat(1000))
    waitFor('Checking the copy')
    await stop()
    closeSync(output)
    // The line is empty again.
    expect(readFileSync(log, 'utf8')).toMatch(/\r\u001b\[K$/)
  })
})
