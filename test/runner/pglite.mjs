/**
 * The package `@electric-sql/pglite` for suites. A new database is a copy of one that is created once and stored, because
 * initdb takes most of the time of opening one.
 */
import { PGlite as Original } from '@electric-sql/pglite'
import { existsSync, openAsBlob, readFileSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const packageFile = new URL('../package.json', import.meta.resolve('@electric-sql/pglite'))
const { version } = JSON.parse(readFileSync(packageFile, 'utf8'))
const cache = join(import.meta.dirname, '../../node_modules/.cache/filigree-tests')
const file = join(cache, `pglite-${version}.tar`)
if (!existsSync(file)) await storeNewDatabase()
const newDatabase = await openAsBlob(file)

async function storeNewDatabase() {
  const database = await Original.create()
  const dump = await database.dumpDataDir('none')
  await database.close()
  await mkdir(cache, { recursive: true })
  // Another worker may read the file, so it appears complete.
  const unfinished = `${file}.${process.pid}`
  await writeFile(unfinished, dump.stream())
  await rename(unfinished, file)
}

export class PGlite extends Original {
  /** @param {string | undefined} folder */
  constructor(folder) {
    const isNew = folder === undefined || !existsSync(folder)
    super(isNew ? { dataDir: folder, loadDataDir: newDatabase } : folder)
  }
}
