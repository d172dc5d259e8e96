/** `filigree backup`: writes a copy of the application's embedded database into a file, while it is in use. */
import { once } from 'node:events'
import { existsSync, writeSync } from 'node:fs'
import { mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { readOnlyAddress } from '../../engines/database-address.js'
import { backupProgram, defaultUrl } from '../../engines/engine-for-url.js'
import { createDatabase } from '../../records/connect.js'
import { defineCommand, flag, moduleOption, type Terminal, UsageError } from '../command.js'
import { describeSize, describeTime, toJson } from '../output.js'
import { loadApplication, planForDatabase, fileOf } from '../load-application.js'
import { pathInPackage } from '../project-files.js'
import { withoutPasswords } from '../../core/secrets.js'

export const backupCommand = defineCommand({
  group: 'Data',
  usage: 'filigree backup <file>',
  summary: 'copies the embedded database into a file while it is in use',
  description: `Copies the application's database (its option "database", otherwise DATABASE_URL) in one consistent state, and opens the
copy to check it. The file is replaced only after the copy is complete. Database servers have their own backup programs:
for them the command exits with 1 and prints the command to run.`,
  options: {
    module: moduleOption,
    json: flag('prints { file, bytes, milliseconds }'),
  },
  examples: [
    'filigree backup backups/today.db',
    'DATABASE_URL=sqlite:./data/app.db filigree backup copy.db',
  ],
  run: async ({ values, positionals: [name] }, terminal) => {
    if (name === undefined)
      throw new UsageError('name the file of the copy: filigree backup copy.db.')
    const target = resolve(terminal.cwd, name)
    if (existsSync(target) && (await stat(target)).isDirectory())
      throw new UsageError(`${name} is a folder. Name a file in it.`)
    const address = await findAddress(values.module, terminal)
    const program = backupProgram(address)
    if (program !== undefined) {
      const { title, command } = program
      const where = withoutPasswords(address)
      await terminal.err(
        `filigree backup: ${where} is ${title}, which has its own backup program. Run:\n  ${command}\n`,
      )
      return false
    }
    const source = fileOf(address, terminal.cwd)
    if (source !== undefined && existsSync(target) && (await isSame(source, target))) {
      await terminal.err(`filigree backup: ${name} is the database itself. Name another file.\n`)
      return false
    }
    const start = performance.now()
    const sourceSize = source === undefined ? 0 : (await stat(source)).size
    const isWatched = terminal.progress !== undefined && sourceSize > 0
    terminal.progress?.(`Copying ${describeSize(sourceSize)} …`)
    const database = await createDatabase({ url: readOnlyAddress(address) })
    try {
      const { engine } = database.context
      await writeAtomically(target, async (file) => {
        const stopWatching = isWatched ? await watchCopy(file, sourceSize) : undefined
        try {
          engine.backup?.(file)
        } finally {
          await stopWatching?.()
        }
      })
    } finally {
      await database.close()
    }
    const { size } = await stat(target)
    const milliseconds = Math.round(performance.now() - start)
    await terminal.out(
      values.json
        ? toJson({ file: target, bytes: size, milliseconds })
        : `${name}: ${describeSize(size)}, copied and checked in ${describeTime(milliseconds)}.\n`,
    )
    return true
  },
})

/**
 * Prints how much of a copy is written, and then that it is checked. A thread does this, because SQLite blocks this one.
 *
 * @param size the size of the source in bytes
 * @param output the descriptor of the file or terminal to print to. Default: standard error
 * @returns a function that stops it
 */
export async function watchCopy(
  file: string,
  size: number,
  output = 2,
): Promise<() => Promise<void>> {
  const worker = new Worker(watchProgram, {
    eval: true,
    execArgv: [],
    workerData: { file, size, output, clearLine },
  })
  await once(worker, 'online')
  return async () => {
    await worker.terminate()
    writeSync(output, clearLine)
  }
}

/** Returns to the start of the line and deletes it. */
const clearLine = '\r\u001b[K'

const watchProgram = `
  const { statSync, writeSync } = require('node:fs')
  const { file, size, output, clearLine } = require('node:worker_threads').workerData
  let last = ''
  setInterval(() => {
    const { size: written } = statSync(file, { throwIfNoEntry: false }) ?? { size: 0 }
    const percent = Math.floor((written / size) * 100)
    const text = percent < 100 ? percent + ' % copied' : 'Checking the copy …'
    if (text !== last) writeSync(output, clearLine + text)
    last = text
  }, 100)
`

/** Writes to a temporary file and renames it, so that the target is always complete. */
async function writeAtomically(
  target: string,
  write: (file: string) => Promise<void>,
): Promise<void> {
  const part = `${target}.${process.pid}.part`
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  await rm(part, { force: true })
  try {
    await write(part)
    const handle = await open(part, 'r+')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(part, target)
  } finally {
    // Files that were created when the copy was opened.
    for (const end of ['', '-wal', '-shm', '-journal']) await rm(part + end, { force: true })
  }
}

/** @returns the address in the application's options, or `DATABASE_URL`, which needs no application */
async function findAddress(module: string | undefined, terminal: Terminal): Promise<string> {
  const named = module ?? (await pathInPackage(terminal.cwd))
  const fallback = process.env.DATABASE_URL?.trim()
  if (named === undefined) {
    if (fallback !== undefined && fallback !== '') return fallback
    throw new UsageError('the database is unknown. Set DATABASE_URL, or name --module.')
  }
  const application = await loadApplication(module, terminal)
  const { database } = application.options
  if (typeof database === 'string') return database
  if (database !== undefined) {
    throw new UsageError(
      'the application opens its database itself. Set DATABASE_URL and omit --module.',
    )
  }
  const { environment } = await planForDatabase(application)
  return environment.databaseUrl ?? defaultUrl
}

async function isSame(one: string, other: string): Promise<boolean> {
  return existsSync(one) && (await realpath(one)) === (await realpath(other))
}
