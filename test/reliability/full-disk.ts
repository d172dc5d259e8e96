/**
 * Writes to a database on a disk that becomes full, and then frees space: writes are 503 meanwhile, and confirmed writes are stored. The
 * disk is a small tmpfs. If it cannot be mounted, the part is skipped and prints the reason.
 * `npm run faults -- --only disk`
 */
import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Database } from '../../src/index.js'
import { startOwnPostgres } from '../records/postgres-server.js'
import { say } from './command-line.js'
import { start } from './shop-application.js'
import { findLoss, writeSteadily } from './steady-writes.js'

/** @returns the number of findings */
export async function fillDisk(): Promise<number> {
  let findings = 0
  for (const [engine, size] of [
    ['sqlite', '8m'],
    ['postgres', '160m'],
  ] as const) {
    const folder = mkdtempSync(join(tmpdir(), 'filigree-disk-'))
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=1777`, 'tmpfs', folder], {
        stdio: 'pipe',
      })
    } catch (error) {
      rmSync(folder, { recursive: true })
      say({
        part: 'disk',
        engine,
        skipped: String((error as { stderr?: unknown }).stderr ?? error).trim(),
      })
      continue
    }
    try {
      chmodSync(folder, 0o1777)
      findings += engine === 'sqlite' ? await onSqlite(folder) : await onPostgres(folder)
    } finally {
      execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return findings
}

async function onSqlite(folder: string): Promise<number> {
  return writeUntilFull(`sqlite:${join(folder, 'app.db')}`, folder)
}

async function onPostgres(folder: string): Promise<number> {
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  const server = await startOwnPostgres().finally(() => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  })
  try {
    return await writeUntilFull(await server.createDatabase(), folder)
  } finally {
    await server.close()
  }
}

async function writeUntilFull(url: string, folder: string): Promise<number> {
  const app = await start(url)
  const database = app.get(Database)
  try {
    const filler = join(folder, 'filler')
    fillUp(filler, folder)
    const full = await writeSteadily([app.url], 4, ({ statuses }) => (statuses['503'] ?? 0) >= 20)
    const reading = (await fetch(`${app.url}/things?limit=1`)).status
    rmSync(filler)
    const after = await writeSteadily([app.url], 4, ({ inRow }) => inRow >= 50)
    const names = new Set([...full.names, ...after.names])
    const loss = await findLoss(database, { ...full, names })
    const unclean = [...full.unclean, ...after.unclean]
    say({
      part: 'disk',
      engine: database.engineName,
      full: full.statuses,
      reading,
      after: after.statuses,
      unclean,
      ...loss,
    })
    return loss.missing + loss.half + unclean.length + (reading === 200 ? 0 : 1)
  } finally {
    await app.close()
  }
}

/** Fills the disk except for some hundred rows. */
function fillUp(file: string, folder: string): void {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize - 200_000
  const piece = Buffer.alloc(64 * 1024)
  for (let written = 0; written < free; written += piece.length) appendFileSync(file, piece)
}
