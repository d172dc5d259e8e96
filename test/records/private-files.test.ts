/** Only the process's user may read the files of an embedded database. */
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { connect, Field, Record } from '../../src/index.js'
import { runIn } from '../cli/run-in.js'

@Record
class Secret {
  @Field('id') id!: number
  @Field('string') text!: string
}

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-modes-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const modeOf = async (...path: string[]): Promise<string> =>
  ((await stat(join(folder, ...path))).mode & 0o777).toString(8)

async function write(file: string): Promise<void> {
  const database = await connect(`sqlite:${file}`, { records: [Secret] })
  await database.sync()
  await database.records(Secret).create({ text: 'x' })
  for (const end of ['-wal', '-shm'])
    if (existsSync(file + end))
      expect(((await stat(file + end)).mode & 0o777).toString(8)).toBe(
        ((await stat(file)).mode & 0o777).toString(8),
      )
  await database.close()
}

describe('SQLite files', () => {
  it('are created readable for their user only, with their folders', async () => {
    await write(join(folder, 'data/deep/app.db'))
    expect(await modeOf('data')).toBe('700')
    expect(await modeOf('data/deep')).toBe('700')
    expect(await modeOf('data/deep/app.db')).toBe('600')
  })

  it('keep the mode of existing files', async () => {
    await mkdir(join(folder, 'data'))
    await chmod(join(folder, 'data'), 0o755)
    await writeFile(join(folder, 'data/app.db'), '')
    await chmod(join(folder, 'data/app.db'), 0o644)
    await write(join(folder, 'data/app.db'))
    expect([await modeOf('data'), await modeOf('data/app.db')]).toEqual(['755', '644'])
  })

  it('are private as backups too', async () => {
    const file = join(folder, 'app.db')
    await write(file)
    const before = process.env.DATABASE_URL
    process.env.DATABASE_URL = `sqlite:${file}`
    try {
      expect(await runIn(folder, ['backup', 'backups/copy.db'])).toMatchObject({ code: 0 })
    } finally {
      if (before === undefined) delete process.env.DATABASE_URL
      else process.env.DATABASE_URL = before
    }
    expect([await modeOf('backups'), await modeOf('backups/copy.db')]).toEqual(['700', '600'])
  })

  it('report a file whose name is needed for a folder', async () => {
    await writeFile(join(folder, 'data'), '')
    await expect(
      connect(`sqlite:${join(folder, 'data/app.db')}`, { records: [Secret] }),
    ).rejects.toThrow(/data is a file, and a folder of this name is needed/)
  })
})
